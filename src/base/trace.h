/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The trace (acuda/trace.h). Whoever has something to tell makes a record; a thread of the trace's
 * writes records as packets of Perfetto's. It is in the library, not beside it: what it tells is
 * known only inside the engine, the encoder is a page, and with the trace off it costs one relaxed
 * load for each submission.
 *
 *   trace.c          the trace that is on: records, the thread, starting and stopping
 *   trace_slice.c      records of what threads do besides submissions
 *   trace_thread.c   threads' numbers and names
 *   trace_packets.c  Perfetto's packets: tracks, slices, counters
 *   trace_file.c     the files: full ones are put aside
 */
#ifndef ACUI_BASE_TRACE_H
#define ACUI_BASE_TRACE_H

#include "base/clock.h"
#include "base/protobuf.h"

#include <acuda/trace.h>

#include <stdatomic.h>
#include <sys/types.h>

/* ---- for those who have something to tell ---- */

/* Relaxed: what just begins or ends while a trace starts or stops may be in it or not. */
extern _Atomic(bool) acui_trace_on;
static inline bool acui_tracing(void)
{
    return atomic_load_explicit(&acui_trace_on, memory_order_relaxed);
}

typedef struct acui_trace_out acui_trace_out;

/* A record of so many bytes: memory for it, aligned as a uint64_t, which is to be filled in at once
 * and given back with acui_trace_put, as meanwhile no other thread can tell anything. `write` gets
 * it later, on the trace's thread. NULL: it is left out, and counted. */
typedef void (*acui_trace_write_fn)(const void *record, acui_trace_out *out);
void *acui_trace_get(acui_trace_write_fn write, size_t bytes);
void acui_trace_put(void);

bool acui_trace_timed(uint64_t now); /* whether one more part may have timing events */

/* Called by the thread when it has written records, to write counters; set once. */
typedef void (*acui_trace_sample)(acui_trace_out *out);
void acui_trace_set_sample(acui_trace_sample sample);

acu_status acui_trace_from_environment(void); /* a device is about to be opened */
void acui_trace_rest(void); /* the last close: write everything, and end the thread */

/* From `from` (of acui_trace_from; 0: no trace was on, nothing is told) until now this thread did
 * something that takes long, and seldom happens: `what` is a verb, "load", and static; the format
 * says the rest of the slice's name. */
static inline uint64_t acui_trace_from(void)
{
    return acui_tracing() ? acui_now() : 0;
}
ACU_PRINTF(3, 4)
void acui_trace_slice(uint64_t from, const char *what, const char *format, ...);

/* ---- trace_thread.c ---- */

pid_t acui_thread_id(void); /* the calling thread's number in the system */
void acui_trace_thread_name(pid_t thread, char *name, size_t room); /* "": not known */
/* The first line of a small file; "": it can not be read. */
void acui_trace_read_line(const char *path, char *line, size_t room);

/* ---- for writing records: trace_packets.c ---- */

enum { /* kinds of tracks: the last bits of their number, which so is short in the file */
    ACUI_TRACK_PROCESS = 1,
    ACUI_TRACK_THREAD,
    ACUI_TRACK_SUBMISSION,
    ACUI_TRACK_PART,
    ACUI_TRACK_STREAM,
    ACUI_TRACK_COUNTER
};

static inline uint64_t acui_track(unsigned kind, uint64_t number)
{
    return number << 3 | kind;
}

static inline unsigned acui_track_kind(uint64_t track)
{
    return track & 7;
}

typedef struct acui_trace_note { /* what is shown beside an event */
    const char *name;
    const char *text; /* NULL: the number */
    uint64_t number;
} acui_trace_note;

typedef struct acui_trace_event {
    uint64_t track, at; /* at: of acui_now */
    const char *name;
    const char *file; /* NULL: none */
    int line;
    uint64_t flow;    /* an arrow that begins or goes on here; 0: none */
    uint64_t flow_to; /* one that ends here */
    const acui_trace_note *notes;
    size_t note_count;
} acui_trace_event;

void acui_trace_begin(acui_trace_out *out, const acui_trace_event *event); /* a slice */
void acui_trace_end(acui_trace_out *out, uint64_t track, uint64_t at);
void acui_trace_instant(acui_trace_out *out, const acui_trace_event *event);
void acui_trace_count(acui_trace_out *out, const char *name, unsigned number, bool bytes,
                      uint64_t at, uint64_t value);

/* The track, described where the file does not know it yet. `once`: it is new. */
uint64_t acui_trace_track(acui_trace_out *out, uint64_t track, const char *name, bool once);
uint64_t acui_trace_thread(acui_trace_out *out, pid_t thread);

/* ---- trace_file.c ---- */

enum { ACUI_TRACE_PATH = 1024, ACUI_TRACKS = 256 };

struct acui_trace_out {
    acui_pb pb; /* not written to the file yet */
    char path[ACUI_TRACE_PATH];
    int fd;
    uint64_t max_bytes, file_bytes;
    unsigned files;
    uint64_t known[ACUI_TRACKS]; /* tracks that the file has, by hash: some are told twice */
    uint64_t bytes, rotated;
    int failure; /* errno; 0: none so far */
    bool lacked; /* there was no memory for some of it */
};

acu_status acui_trace_open(acui_trace_out *out, const char *path, const char *asked_by);
void acui_trace_write(acui_trace_out *out); /* all that is encoded; perhaps begin a new file */
void acui_trace_close(acui_trace_out *out);
void acui_trace_head(acui_trace_out *out); /* of trace_packets.c: what each file begins with */

#endif
