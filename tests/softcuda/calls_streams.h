/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random calls on streams and events, and captures. */
#ifndef TESTS_SOFTCUDA_CALLS_STREAMS_H
#define TESTS_SOFTCUDA_CALLS_STREAMS_H

#include "softcuda/calls_world.h"

static void make_stream(world *w)
{
    const unsigned n = STREAMS_GIVEN + below(w, STREAMS - STREAMS_GIVEN);
    const unsigned flags = ONE_OF(w, 0, 1, 1, 1, 2, 3);
    CUstream made = NULL; /* after a failure it may be anything */
    bool there;
    if (w->streams[n])
        return;
    if (rarely(w, 2)) {
        const int priority = (int)below(w, 12) - 8;
        ask(w, "StreamCreateWithPriority s%u flags %u priority %d", n, flags, priority);
        there = told(w, w->cu->StreamCreateWithPriority(&made, flags, priority));
    } else {
        ask(w, "StreamCreate s%u flags %u", n, flags);
        there = told(w, w->cu->StreamCreate(&made, flags));
    }
    w->streams[n] = there ? made : NULL;
}

static bool is_capturing(world *w, unsigned n)
{
    unsigned status = 0;
    return w->cu->StreamIsCapturing(w->streams[n], &status) || status;
}

static void destroy_stream(world *w)
{
    const unsigned n = below(w, 6) ? STREAMS_GIVEN + below(w, STREAMS - STREAMS_GIVEN) : 0;
    if (n && (!w->streams[n] || below(w, 3) || is_capturing(w, n)))
        return; /* a capture without its stream would never end */
    ask(w, "StreamDestroy s%u", n);
    if (told(w, w->cu->StreamDestroy(w->streams[n])))
        w->streams[n] = NULL;
}

static void ask_stream(world *w)
{
    const unsigned n = some_stream(w);
    CUstream s = w->streams[n];
    int priority = -77;
    unsigned flags = 77;
    CUcontext ctx = NULL;
    switch (below(w, 5)) {
    case 0:
        ask(w, "StreamGetPriority s%u", n);
        told(w, w->cu->StreamGetPriority(s, &priority));
        gave(w, (unsigned)(priority + 100));
        break;
    case 1:
        ask(w, "StreamGetFlags s%u", n);
        told(w, w->cu->StreamGetFlags(s, &flags));
        gave(w, flags);
        break;
    case 2:
        ask(w, "StreamGetCtx s%u", n);
        told(w, w->cu->StreamGetCtx(s, &ctx));
        gave(w, ctx == w->context);
        break;
    case 3:
        ask(w, "StreamQuery s%u", n);
        told(w, w->cu->StreamQuery(s));
        break;
    default:
        ask(w, "StreamSynchronize s%u", n);
        told(w, w->cu->StreamSynchronize(s));
    }
}

static void wait_event(world *w)
{
    const unsigned n = some_stream(w), e = some(w, EVENTS);
    const unsigned flags = ONE_OF(w, 0, 0, 0, 0, 0, 1, 2);
    ask(w, "StreamWaitEvent s%u e%u%s flags %u", n, e, w->events[e] ? "" : " (none)", flags);
    told(w, w->cu->StreamWaitEvent(w->streams[n], w->events[e], flags));
}

static void count_on_host(void *counter)
{
    atomic_fetch_add((_Atomic unsigned *)counter, 1);
}

static void host_function(world *w)
{
    const unsigned n = some_stream(w), c = below(w, COUNTERS);
    CUhostFn fn = rarely(w, 12) ? NULL : count_on_host;
    ask(w, "LaunchHostFunc s%u%s counter %u", n, fn ? "" : " (none)", c);
    told(w, w->cu->LaunchHostFunc(w->streams[n], fn, &host_counters[c]));
}

/* acuda never makes such nodes in captures; the same below. */
static void write_value(world *w)
{
    const unsigned n = some_stream(w);
    const unsigned flags = ONE_OF(w, 0, 0, 0, 1, 2);
    const CUdeviceptr at = rarely(w, 8) ? 0 : w->scratch + ONE_OF(w, 0, 8, 16, 64, 2, 4);
    CUstream s = w->streams[n];
    if (is_capturing(w, n))
        return;
    if (rarely(w, 2)) {
        ask(w, "StreamWriteValue32 s%u at %llu flags %u", n, at ? at - w->scratch : 0, flags);
        told(w, w->cu->StreamWriteValue32(s, at, 7, flags));
    } else {
        ask(w, "StreamWriteValue64 s%u at %llu flags %u", n, at ? at - w->scratch : 0, flags);
        told(w, w->cu->StreamWriteValue64(s, at, 7, flags));
    }
}

/* Waits for a value that is there already. */
static void wait_value(world *w)
{
    const unsigned n = some_stream(w);
    const unsigned flags = ONE_OF(w, 0, 1, 3, 0x40000000, 0x40000001, 4, 8);
    const CUdeviceptr at = rarely(w, 8) ? 0 : w->zeros + ONE_OF(w, 0, 8, 16, 64, 2, 4);
    CUstream s = w->streams[n];
    if (is_capturing(w, n))
        return;
    if (rarely(w, 2)) {
        ask(w, "StreamWaitValue32 s%u at %llu flags %x", n, at ? at - w->zeros : 0, flags);
        told(w, w->cu->StreamWaitValue32(s, at, 0, flags));
    } else {
        ask(w, "StreamWaitValue64 s%u at %llu flags %x", n, at ? at - w->zeros : 0, flags);
        told(w, w->cu->StreamWaitValue64(s, at, 0, flags));
    }
}

/* ---- events ---- */

static void make_event(world *w)
{
    const unsigned n = below(w, EVENTS);
    const unsigned flags = ONE_OF(w, 0, 2, 2, 1, 3, 4, 8, 16);
    CUevent made = NULL;
    if (w->events[n])
        return;
    ask(w, "EventCreate e%u flags %u", n, flags);
    if (told(w, w->cu->EventCreate(&made, flags)))
        w->events[n] = made;
}

static void destroy_event(world *w)
{
    const unsigned n = below(w, EVENTS);
    if (below(w, 3))
        return;
    ask(w, "EventDestroy e%u%s", n, w->events[n] ? "" : " (none)");
    if (told(w, w->cu->EventDestroy(w->events[n])))
        w->events[n] = NULL;
}

static void record_event(world *w)
{
    const unsigned n = some_stream(w), e = some(w, EVENTS);
    if (below(w, 4)) {
        ask(w, "EventRecord e%u%s s%u", e, w->events[e] ? "" : " (none)", n);
        told(w, w->cu->EventRecord(w->events[e], w->streams[n]));
        return;
    }
    const unsigned flags = ONE_OF(w, 0, 1, 1, 2);
    ask(w, "EventRecordWithFlags e%u%s s%u flags %u", e, w->events[e] ? "" : " (none)", n, flags);
    told(w, w->cu->EventRecordWithFlags(w->events[e], w->streams[n], flags));
}

static void ask_event(world *w)
{
    const unsigned e = some(w, EVENTS), f = some(w, EVENTS);
    float time;
    switch (below(w, 3)) {
    case 0:
        ask(w, "EventQuery e%u%s", e, w->events[e] ? "" : " (none)");
        told(w, w->cu->EventQuery(w->events[e]));
        break;
    case 1:
        ask(w, "EventSynchronize e%u%s", e, w->events[e] ? "" : " (none)");
        told(w, w->cu->EventSynchronize(w->events[e]));
        break;
    default:
        ask(w, "EventElapsedTime e%u%s e%u%s", e, w->events[e] ? "" : " (none)", f,
            w->events[f] ? "" : " (none)");
        told(w, w->cu->EventElapsedTime(&time, w->events[e], w->events[f]));
    }
}

/* ---- captures ---- */

static void begin_capture(world *w)
{
    const unsigned n = some_stream(w), mode = ONE_OF(w, 0, 1, 2, 2, 2, 2, 3);
    ask(w, "StreamBeginCapture s%u mode %u", n, mode);
    told(w, w->cu->StreamBeginCapture(w->streams[n], mode));
}

/* Records the types of the nodes. */
static void tell_graph(world *w, CUgraph graph)
{
    CUgraphNode nodes[256];
    size_t count = 0, edges = 0, roots = 0;
    unsigned type, of_type[16] = {0};
    if (w->cu->GraphGetNodes(graph, NULL, &count) || count > 256 ||
        (count && w->cu->GraphGetNodes(graph, nodes, &count)))
        return;
    for (size_t i = 0; i < count; i++)
        if (!w->cu->GraphNodeGetType(nodes[i], &type) && type < 16)
            of_type[type]++;
    w->cu->GraphGetEdges(graph, NULL, NULL, &edges);
    w->cu->GraphGetRootNodes(graph, NULL, &roots);
    gave(w, edges);
    gave(w, roots);
    for (unsigned t = 0; t < 14; t++)
        if (of_type[t])
            gave(w, 1000 * (t + 1) + of_type[t]);
}

static void end_capture(world *w)
{
    const unsigned n = some_stream(w), g = below(w, GRAPHS);
    CUgraph graph = NULL;
    if (w->graphs[g].graph)
        return;
    ask(w, "StreamEndCapture s%u g%u", n, g);
    if (told(w, w->cu->StreamEndCapture(w->streams[n], &graph)) && graph) {
        tell_graph(w, graph);
        w->graphs[g] = (known_graph){.graph = graph, .life = ++w->lives};
    } else {
        gave(w, graph != NULL);
    }
}

static void ask_capture(world *w)
{
    const unsigned n = some_stream(w);
    unsigned status = 77;
    uint64_t id = 0;
    CUgraph graph = NULL;
    const CUgraphNode *dependencies = NULL;
    size_t count = 0;
    if (rarely(w, 2)) {
        ask(w, "StreamIsCapturing s%u", n);
        told(w, w->cu->StreamIsCapturing(w->streams[n], &status));
        gave(w, status);
        return;
    }
    ask(w, "StreamGetCaptureInfo s%u", n);
    if (told(w, w->cu->StreamGetCaptureInfo(w->streams[n], &status, &id, &graph, &dependencies,
                                            &count))) {
        gave(w, status);
        if (status == ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE) {
            gave(w, count);
            gave(w, graph != NULL);
        }
    }
}

static void exchange_mode(world *w)
{
    unsigned mode = ONE_OF(w, 0, 1, 2);
    ask(w, "ThreadExchangeStreamCaptureMode %u", mode);
    told(w, w->cu->ThreadExchangeStreamCaptureMode(&mode));
    gave(w, mode);
}

#endif
