/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Streams: queues of work that runs in order; and marks, which name a place in such a queue.
 *
 * A stream counts what was issued to it and what is done; "place" n is reached when done >= n.
 * Events, synchronization and the order between streams are all built on marks.
 */
#ifndef SOFTCUDA_DRIVER_STREAM_H
#define SOFTCUDA_DRIVER_STREAM_H

#include "driver/context.h"

typedef struct sd_stream sd_stream;

/* A place on a stream. Whoever keeps a mark keeps a reference to the stream. */
typedef struct sd_mark {
    sd_stream *stream; /* NULL: nothing to wait for */
    uint64_t at;
} sd_mark;

bool sd_mark_done(const sd_mark *mark);
/* The same for a program that asks, which may learn of it later: see schedule.h. */
bool sd_mark_seen(const sd_mark *mark);
void sd_mark_drop(sd_mark *mark); /* gives the reference back; the mark is empty after */
/* Block until the place is reached. */
void sd_mark_wait(const sd_mark *mark);

typedef struct sd_work sd_work;

/* The last thing that a stream captured, or what an event stands for in a capture; see
 * capture.h. */
struct sd_capture;
typedef struct sd_captured {
    struct sd_capture *capture; /* held; NULL in a stream's own, because the capture holds the
                                 * stream */
    CUgraphNode *nodes;
    size_t count;
} sd_captured;

/* One kind of work. The struct of each kind begins with an sd_work. */
typedef struct sd_work_kind {
    const char *name;
    /* Do the work. A result that is not 0 becomes the context's fault. NULL: nothing to do. */
    unsigned (*run)(sd_stream *stream, sd_work *work);
    /* False: it can not start yet; asked again and again. NULL: always ready. */
    bool (*ready)(const sd_work *work);
    void (*drop)(sd_work *work); /* give back what it holds, but not its own memory; may be NULL */
    sd_work *(*clone)(const sd_work *work); /* another work like it, not issued; returns NULL: no
                                             * memory */
    void (*tell)(const sd_work *work, char *text, size_t bytes); /* for traces; may be NULL */
    /* Whether an executable graph may have `with` in the place of `work`; NULL: always. */
    bool (*replaceable)(const sd_work *work, const sd_work *with);
    bool (*same)(const sd_work *work, const sd_work *with); /* if they are the same, the work may
                                                             * stay in any case */
    bool on_host;       /* runs on a thread for host functions */
    bool always;        /* runs in a faulted context too */
    unsigned node_type; /* for what can be cloned: ACU_CU_GRAPH_NODE_TYPE_x */
} sd_work_kind;

struct sd_work {
    sd_work *next;
    const sd_work_kind *kind;
    uint64_t at;                  /* its place, set by sd_stream_push */
    sd_mark after;                /* it must not start before this is reached; owns the reference */
    uint64_t hidden;              /* schedule.c's */
    const struct sd_fault *fault; /* the late fault that it was issued with; NULL: none */
};

struct sd_stream {
    sd_object object;
    sd_stream *context_next, *context_previous; /* context->streams, under context->lock */
    unsigned flags;
    int priority; /* 0 to -5 */
    uint64_t id;
    uint64_t number; /* among all streams of the process, counted from 1 */
    bool legacy;     /* the context's stream 0 */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t moved; /* broadcast when something is done while somebody sleeps */
    unsigned sleepers;
    sd_work *head, *tail;          /* the head stays in the list while it runs */
    _Atomic uint64_t issued, done; /* written under the lock, read without */
    _Atomic uint64_t seen; /* in a seeded run, the place up to which programs know; schedule.c's
                            * lock */
    bool scheduled;        /* queued, running, or parked: holds a reference to the stream */
    sd_stream *parked;     /* streams that wait for a place on this one, linked by parked_next */

    /* Set while it captures; what it points to is under the capture's lock. */
    _Atomic(struct sd_capture *) capture;
    sd_captured captured;
    sd_stream *capture_next;

    /* For whoever has the stream's schedule. */
    sd_stream *queue_next;
    sd_stream *parked_next;
    uint64_t parked_at;
    uint64_t ripe, turn; /* schedule.c's */
};

/* Make a stream with a handle in `context`; `least` from 0 to -5. A CUresult. */
unsigned sd_stream_create(sd_context *context, unsigned flags, int priority, sd_stream **stream);
unsigned sd_stream_create_legacy(sd_context *context);

/* End the handle at once; work that was issued still finishes. */
void sd_stream_retire(sd_stream *stream);

/*
 * The stream that a handle means in `context`, which is the current one: 0 and 1 are the legacy
 * stream, 2 is the thread's own, all others created streams. With a reference. A CUresult, which
 * includes its context's fault.
 */
unsigned sd_stream_find(sd_context *context, CUstream handle, sd_stream **stream);

static inline void sd_stream_leave(sd_stream **stream)
{
    if (*stream)
        sd_object_put(&(*stream)->object);
}
/* A variable for a stream, or NULL, whose reference ends with the block. */
#define SD_STREAM_HELD __attribute__((cleanup(sd_stream_leave))) sd_stream *

/* What a call does with a stream. It decides what a capture has against the call. */
typedef enum sd_use {
    SD_STREAM_SEEN,   /* it asks whether the stream captures */
    SD_STREAM_TURNED, /* it begins a capture, or ends it */
    SD_STREAM_USED,   /* it can be captured, or it asks something */
    SD_STREAM_FREE,   /* it cannot be captured */
} sd_use;

/*
 * Every call with a stream begins with this. The current context is needed for the streams that
 * have no handle of their own. *context is the current one or, if there is none, the stream's. A
 * CUresult.
 */
unsigned sd_stream_enter(CUstream handle, sd_use use, sd_context **context, sd_stream **stream);

/* Declare `context` and `name`, the stream that `handle` means. */
#define SD_STREAM_FOR(use, name, handle) \
    __attribute__((cleanup(sd_context_leave), unused)) sd_context *context = NULL; \
    SD_STREAM_HELD name = NULL; \
    do { \
        unsigned entered_ = sd_stream_enter(handle, use, &context, &name); \
        if (entered_) \
            return entered_; \
    } while (0)
#define SD_STREAM(name, handle) SD_STREAM_FOR(SD_STREAM_USED, name, handle)

/*
 * Append work (made with malloc), which belongs to the stream from now on, also on failure. It is
 * ordered behind the legacy stream or, on the legacy stream, behind all blocking ones. A CUresult.
 */
unsigned sd_stream_push(sd_stream *stream, sd_work *work);

/* The same, and sets *mark to the work's place. */
unsigned sd_stream_push_at(sd_stream *stream, sd_work *work, sd_mark *mark);

/* Drop work that was not issued. NULL is nothing. */
void sd_work_discard(sd_work *work);

/* Append a wait for `mark`, whose reference is taken over. */
unsigned sd_stream_push_wait(sd_stream *stream, sd_mark mark);

/* The mark of everything issued so far, with a reference. */
sd_mark sd_stream_mark(sd_stream *stream);
bool sd_stream_idle(const sd_stream *stream);
bool sd_stream_seen_idle(const sd_stream *stream); /* for a program that asks */

/* For worker threads, which have the schedule: run what can be run. */
void sd_stream_advance(sd_stream *stream, sd_workers *by);

/* For whoever has the stream's schedule: park it at the mark. False: the mark was reached
 * meanwhile. Once parked, the stream is not the caller's any more. */
bool sd_stream_park(sd_stream *stream, const sd_mark *mark);

/* For pollers: the stream's head was found ready. */
void sd_stream_resume(sd_stream *stream);

/* poller.c: park a stream until its head is ready. */
void sd_poller_add(sd_stream *stream);

#endif
