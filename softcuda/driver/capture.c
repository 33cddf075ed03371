/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stream capture (capture.h). A capture owns the graph that it builds until it ends; each stream in
 * it, and each event that stands for something in it, keeps the nodes that come last there.
 */
#include "driver/capture.h"

#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

/* One capture. It ends when the stream where it began ends it; events may refer to it for
 * longer. */
struct sd_capture {
    _Atomic unsigned references;
    struct sd_capture *next; /* links `all`, under its lock, until it ends */
    uint64_t id;
    unsigned mode;
    pthread_t thread;
    sd_stream *origin; /* only compared, never followed */
    _Atomic bool lost;

    pthread_mutex_t lock; /* guards what follows, and the nodes of its streams */
    sd_graph *graph;      /* NULL once it has ended */
    sd_stream *streams;   /* all that take part, held, linked by capture_next */
};

static struct {
    pthread_mutex_t lock; /* taken before a capture's lock */
    struct sd_capture *first;
    _Atomic unsigned count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local unsigned thread_mode = ACU_CU_STREAM_CAPTURE_MODE_GLOBAL;

static void hold(struct sd_capture *c)
{
    atomic_fetch_add_explicit(&c->references, 1, memory_order_relaxed);
}

static void put(struct sd_capture *c)
{
    if (atomic_fetch_sub_explicit(&c->references, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void sd_captured_forget(sd_captured *captured)
{
    if (captured->capture)
        put(captured->capture);
    free(captured->nodes);
    *captured = (sd_captured){0};
}

/* Sets `to` to the nodes of `from`, which is of the same capture; with `more`, adds them. */
static bool add_nodes(sd_captured *to, const sd_captured *from, bool more)
{
    size_t kept = more ? to->count : 0;
    CUgraphNode *nodes = calloc(kept + from->count + 1, sizeof(CUgraphNode));
    if (!nodes)
        return false;
    if (kept)
        memcpy(nodes, to->nodes, kept * sizeof *nodes);
    size_t count = kept;
    for (size_t i = 0; i < from->count; i++) {
        bool known = false;
        for (size_t k = 0; k < kept && !known; k++)
            known = nodes[k] == from->nodes[i];
        if (!known)
            nodes[count++] = from->nodes[i];
    }
    free(to->nodes);
    to->nodes = nodes;
    to->count = count;
    return true;
}

static unsigned state(const struct sd_capture *c)
{
    return atomic_load_explicit(&c->lost, memory_order_acquire)
               ? ACU_CU_STREAM_CAPTURE_STATUS_INVALIDATED
               : ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static unsigned lose(struct sd_capture *c, unsigned result)
{
    atomic_store_explicit(&c->lost, true, memory_order_release);
    return result;
}

/* A stream's capture, with a reference; NULL: it does not capture. */
static struct sd_capture *capture_of(sd_stream *stream)
{
    pthread_mutex_lock(&all.lock);
    struct sd_capture *c = atomic_load_explicit(&stream->capture, memory_order_acquire);
    if (c)
        hold(c);
    pthread_mutex_unlock(&all.lock);
    return c;
}

static bool is_lost(const struct sd_capture *c)
{
    return c && state(c) == ACU_CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

/* Whether what an event stands for is worthless: its capture is lost or over. */
static bool is_void(struct sd_capture *c)
{
    if (!c)
        return false;
    pthread_mutex_lock(&c->lock);
    bool over = !c->graph;
    pthread_mutex_unlock(&c->lock);
    return over || is_lost(c);
}

/* ---- what is captured ---- */

/* Makes the step a node behind the stream's latest nodes; from then on it is the only latest one.
 * With c->lock. */
static unsigned add_step(struct sd_capture *c, sd_stream *stream, sd_step *step)
{
    sd_captured *tail = &stream->captured;
    sd_node *node;
    unsigned result = sd_graph_add(c->graph, step, tail->nodes, tail->count, &node);
    if (result)
        return lose(c, result);
    CUgraphNode handle = node->object.handle;
    sd_captured only = {NULL, &handle, 1};
    return add_nodes(tail, &only, false) ? ACU_CUDA_SUCCESS : lose(c, ACU_CUDA_ERROR_OUT_OF_MEMORY);
}

unsigned sd_capture_push(sd_stream *stream, sd_work *work)
{
    struct sd_capture *c = capture_of(stream);
    unsigned result = ACU_CUDA_SUCCESS;
    if (!c || state(c) != ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE)
        result = ACU_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!work->kind->clone)
        result = lose(c, ACU_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (result) {
        sd_work_discard(work);
    } else {
        sd_step step = {
            .type = work->kind->node_type, .work = work, .context = stream->object.context};
        sd_object_hold(&step.context->object);
        pthread_mutex_lock(&c->lock);
        result = add_step(c, stream, &step);
        pthread_mutex_unlock(&c->lock);
    }
    if (c)
        put(c);
    return result;
}

unsigned sd_capture_node(sd_stream *stream, sd_event *event, unsigned type)
{
    struct sd_capture *c = capture_of(stream);
    pthread_mutex_lock(&event->lock);
    bool nothing = is_void(event->captured.capture);
    pthread_mutex_unlock(&event->lock);
    if (nothing && type == ACU_CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
        if (c)
            lose(c, 0);
        if (c)
            put(c);
        return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    if (!c)
        return ACU_CUDA_ERROR_ILLEGAL_STATE;
    unsigned result = ACU_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (state(c) == ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        sd_step step = {.type = type, .event = event, .context = event->object.context};
        sd_object_hold(&event->object);
        sd_object_hold(&step.context->object);
        pthread_mutex_lock(&c->lock);
        result = add_step(c, stream, &step);
        pthread_mutex_unlock(&c->lock);
    }
    put(c);
    return result;
}

unsigned sd_capture_record(sd_stream *stream, sd_event *event)
{
    struct sd_capture *c = capture_of(stream);
    if (!c || state(c) != ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        if (c)
            put(c);
        return ACU_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    pthread_mutex_lock(&event->lock);
    sd_captured_forget(&event->captured);
    pthread_mutex_lock(&c->lock);
    bool fine = add_nodes(&event->captured, &stream->captured, false);
    pthread_mutex_unlock(&c->lock);
    event->captured.capture = c; /* takes over our reference */
    pthread_mutex_unlock(&event->lock);
    return fine ? ACU_CUDA_SUCCESS : lose(c, ACU_CUDA_ERROR_OUT_OF_MEMORY);
}

/* The stream takes part from now on. With c->lock. */
static void join(struct sd_capture *c, sd_stream *stream)
{
    sd_object_hold(&stream->object);
    stream->capture_next = c->streams;
    c->streams = stream;
    atomic_store_explicit(&stream->capture, c, memory_order_release);
}

/* Whether a stream of the capture `own` may wait for an event of `c`; either can be NULL. */
static unsigned check_wait(const sd_stream *stream, struct sd_capture *own, struct sd_capture *c)
{
    if (is_lost(own))
        return ACU_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (is_void(c))
        return own ? lose(own, ACU_CUDA_ERROR_INVALID_VALUE) : ACU_CUDA_ERROR_INVALID_VALUE;
    if (stream->legacy)
        return lose(c ? c : own, ACU_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (!c) /* a wait from inside a capture for an event outside of it */
        return lose(own, ACU_CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (own && own != c)
        return lose(own, lose(c, ACU_CUDA_ERROR_STREAM_CAPTURE_MERGE));
    return ACU_CUDA_SUCCESS;
}

unsigned sd_capture_wait(sd_stream *stream, sd_event *event)
{
    struct sd_capture *own = capture_of(stream);
    pthread_mutex_lock(&event->lock);
    struct sd_capture *c = event->captured.capture;
    unsigned result = check_wait(stream, own, c);
    if (!result) {
        pthread_mutex_lock(&c->lock);
        if (!c->graph) /* it has ended just now */
            result = ACU_CUDA_ERROR_INVALID_VALUE;
        else if (!add_nodes(&stream->captured, &event->captured, true))
            result = lose(c, ACU_CUDA_ERROR_OUT_OF_MEMORY);
        else if (!own)
            join(c, stream);
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&event->lock);
    if (own)
        put(own);
    return result;
}

unsigned sd_capture_ask(sd_event *event, bool reached)
{
    unsigned result = ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&event->lock);
    if (is_void(event->captured.capture))
        result = ACU_CUDA_ERROR_INVALID_VALUE;
    else if (event->captured.capture)
        result = reached ? lose(event->captured.capture, ACU_CUDA_ERROR_CAPTURED_EVENT)
                         : ACU_CUDA_ERROR_CAPTURED_EVENT;
    pthread_mutex_unlock(&event->lock);
    return result;
}

unsigned sd_capture_refuse(sd_stream *stream, unsigned result)
{
    struct sd_capture *c = capture_of(stream);
    if (c) {
        lose(c, result);
        put(c);
    }
    return result;
}

/* Returns `result` if a stream of the context captures, not counting those with flags in `ignored`;
 * with `used` such captures are lost. */
static unsigned ask_streams(sd_context *context, unsigned ignored, bool used, unsigned result)
{
    unsigned found = ACU_CUDA_SUCCESS;
    if (!atomic_load_explicit(&all.count, memory_order_acquire))
        return ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&context->lock);
    for (sd_stream *s = context->streams; s; s = s->context_next) {
        if (s->flags & ignored || !sd_capturing(s))
            continue;
        found = result;
        if (used)
            sd_capture_refuse(s, result);
    }
    pthread_mutex_unlock(&context->lock);
    return found;
}

unsigned sd_capture_check(sd_stream *stream, sd_use use)
{
    if (stream->legacy)
        return ask_streams(stream->object.context, ACU_CU_STREAM_NON_BLOCKING,
                           use != SD_STREAM_SEEN, ACU_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (use < SD_STREAM_USED || !sd_capturing(stream))
        return ACU_CUDA_SUCCESS;
    if (use == SD_STREAM_FREE)
        return sd_capture_refuse(stream, ACU_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    struct sd_capture *c = capture_of(stream);
    bool lost = is_lost(c);
    if (c)
        put(c);
    return lost ? ACU_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : ACU_CUDA_SUCCESS;
}

unsigned sd_capture_all(sd_context *context)
{
    return ask_streams(context, 0, true, ACU_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

unsigned sd_capture_unsafe(void)
{
    if (!atomic_load_explicit(&all.count, memory_order_acquire) ||
        thread_mode == ACU_CU_STREAM_CAPTURE_MODE_RELAXED)
        return ACU_CUDA_SUCCESS;
    unsigned result = ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&all.lock);
    for (struct sd_capture *c = all.first; c; c = c->next) {
        bool mine = pthread_equal(c->thread, pthread_self()) != 0;
        bool others = c->mode == ACU_CU_STREAM_CAPTURE_MODE_GLOBAL &&
                      thread_mode == ACU_CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (others || (mine && c->mode != ACU_CU_STREAM_CAPTURE_MODE_RELAXED))
            result = lose(c, ACU_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    pthread_mutex_unlock(&all.lock);
    return result;
}

/* ---- beginning and ending ---- */

static unsigned begin(sd_stream *stream, unsigned mode)
{
    struct sd_capture *c = calloc(1, sizeof *c);
    unsigned result = c ? sd_graph_create(&c->graph) : ACU_CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        free(c);
        return result;
    }
    atomic_init(&c->references, 1);
    pthread_mutex_init(&c->lock, NULL);
    c->id = atomic_fetch_add_explicit(&sd.next_id, 1, memory_order_relaxed);
    c->mode = mode;
    c->thread = pthread_self();
    c->origin = stream;
    pthread_mutex_lock(&all.lock);
    c->next = all.first;
    all.first = c;
    atomic_fetch_add_explicit(&all.count, 1, memory_order_release);
    pthread_mutex_lock(&c->lock);
    join(c, stream);
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_unlock(&all.lock);
    return ACU_CUDA_SUCCESS;
}

/* Whether everything that was captured comes before what the first stream has now. With c->lock. */
static bool is_joined(const struct sd_capture *c)
{
    const sd_captured *end = &c->origin->captured;
    for (const sd_stream *s = c->streams; s; s = s->capture_next)
        for (size_t i = 0; s != c->origin && i < s->captured.count; i++) {
            /* Joined if the origin has the node, or a node of the graph comes after it. */
            bool followed = false;
            for (size_t k = 0; k < end->count && !followed; k++)
                followed = end->nodes[k] == s->captured.nodes[i];
            if (!followed && !sd_graph_is_followed(c->graph, s->captured.nodes[i]))
                return false;
        }
    return true;
}

/* Takes the capture out of the list and releases its streams from it. Returns them, linked and
 * held. */
static sd_stream *unlist(struct sd_capture *c)
{
    struct sd_capture **at = &all.first;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    atomic_fetch_sub_explicit(&all.count, 1, memory_order_release);
    pthread_mutex_lock(&c->lock);
    sd_stream *streams = c->streams;
    c->streams = NULL;
    for (sd_stream *s = streams; s; s = s->capture_next) {
        atomic_store_explicit(&s->capture, NULL, memory_order_release);
        sd_captured_forget(&s->captured);
    }
    pthread_mutex_unlock(&c->lock);
    return streams;
}

static unsigned end(sd_stream *stream, CUgraph *graph)
{
    struct sd_capture *c = capture_of(stream);
    *graph = NULL;
    if (!c)
        return ACU_CUDA_ERROR_ILLEGAL_STATE;
    if (c->origin != stream) {
        lose(c, 0);
        put(c);
        return ACU_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    /* The capture is over in this case too: seen on an H100 with driver 580. */
    bool wrong_thread =
        c->mode != ACU_CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self());
    pthread_mutex_lock(&c->lock);
    bool joined = is_joined(c);
    sd_graph *made = c->graph;
    c->graph = NULL;
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_lock(&all.lock);
    sd_stream *streams = unlist(c);
    pthread_mutex_unlock(&all.lock);
    while (streams) {
        sd_stream *next = streams->capture_next;
        streams->capture_next = NULL;
        sd_object_put(&streams->object);
        streams = next;
    }
    unsigned result = wrong_thread ? ACU_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
                      : state(c) != ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE
                          ? ACU_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      : joined ? ACU_CUDA_SUCCESS
                               : ACU_CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (result)
        sd_graph_release(made);
    else
        *graph = made->object.handle;
    put(c); /* our reference */
    put(c); /* the list's reference */
    return result;
}

/* ---- entry points ---- */

unsigned sd_cuStreamBeginCapture_v2(CUstream handle, unsigned mode)
{
    if (mode > ACU_CU_STREAM_CAPTURE_MODE_RELAXED)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    SD_STREAM_FOR(SD_STREAM_TURNED, stream, handle);
    if (stream->legacy)
        return ACU_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return sd_capturing(stream) ? ACU_CUDA_ERROR_ILLEGAL_STATE : begin(stream, mode);
}

unsigned sd_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    SD_STREAM_FOR(SD_STREAM_TURNED, stream, handle);
    return graph ? end(stream, graph) : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuStreamIsCapturing(CUstream handle, unsigned *status)
{
    SD_STREAM_FOR(SD_STREAM_SEEN, stream, handle);
    if (!status)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    struct sd_capture *c = capture_of(stream);
    *status = c ? state(c) : ACU_CU_STREAM_CAPTURE_STATUS_NONE;
    if (c)
        put(c);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuStreamGetCaptureInfo_v2(CUstream handle, unsigned *status, uint64_t *id,
                                      CUgraph *graph, const CUgraphNode **dependencies,
                                      size_t *num_dependencies)
{
    SD_STREAM_FOR(SD_STREAM_SEEN, stream, handle);
    if (!status)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    struct sd_capture *c = capture_of(stream);
    *status = c ? state(c) : ACU_CU_STREAM_CAPTURE_STATUS_NONE;
    if (!c)
        return ACU_CUDA_SUCCESS;
    pthread_mutex_lock(&c->lock);
    if (id)
        *id = c->id;
    if (graph)
        *graph = c->graph ? c->graph->object.handle : NULL;
    if (dependencies) /* valid until the stream captures more */
        *dependencies = stream->captured.nodes;
    if (num_dependencies)
        *num_dependencies = stream->captured.count;
    pthread_mutex_unlock(&c->lock);
    put(c);
    return ACU_CUDA_SUCCESS;
}

/* Edges have no data here. */
unsigned sd_cuStreamGetCaptureInfo_v3(CUstream handle, unsigned *status, uint64_t *id,
                                      CUgraph *graph, const CUgraphNode **dependencies,
                                      const sd_edge_data **edges, size_t *num_dependencies)
{
    unsigned result = sd_cuStreamGetCaptureInfo_v2(handle, status, id, graph, dependencies,
                                                   num_dependencies);
    if (!result && edges && *status != ACU_CU_STREAM_CAPTURE_STATUS_NONE)
        *edges = NULL;
    return result;
}

unsigned sd_cuThreadExchangeStreamCaptureMode(unsigned *mode)
{
    SD_ENTER();
    if (!mode || *mode > ACU_CU_STREAM_CAPTURE_MODE_RELAXED)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return ACU_CUDA_SUCCESS;
}
