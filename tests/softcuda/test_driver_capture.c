/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stream capture: work on one or several streams becomes a graph; and what a capture forbids. */
#include "softcuda/driver_test.h"

#include <pthread.h>

#define RELAXED ACU_CU_STREAM_CAPTURE_MODE_RELAXED
#define GLOBAL ACU_CU_STREAM_CAPTURE_MODE_GLOBAL

typedef struct lab {
    const acu_driver_table *cu;
    CUmodule module;
    CUstream a, b;
    CUevent fork, join;
    CUdeviceptr at; /* 64 words, 0 */
    CUcontext context;
    unsigned results[2]; /* of another thread */
} lab;

static lab open_lab(void)
{
    lab l = {.cu = open_driver()};
    l.module = test_module(l.cu);
    OK(l.cu->StreamCreate(&l.a, ACU_CU_STREAM_NON_BLOCKING));
    OK(l.cu->StreamCreate(&l.b, ACU_CU_STREAM_NON_BLOCKING));
    OK(l.cu->EventCreate(&l.fork, ACU_CU_EVENT_DISABLE_TIMING));
    OK(l.cu->EventCreate(&l.join, ACU_CU_EVENT_DISABLE_TIMING));
    OK(l.cu->MemAlloc(&l.at, 256));
    OK(l.cu->MemsetD32(l.at, 0, 64));
    OK(l.cu->StreamSynchronize(NULL));
    return l;
}

static void close_lab(lab *l)
{
    OK(l->cu->MemFree(l->at));
    OK(l->cu->EventDestroy(l->fork));
    OK(l->cu->EventDestroy(l->join));
    OK(l->cu->StreamDestroy(l->a));
    OK(l->cu->StreamDestroy(l->b));
    OK(l->cu->ModuleUnload(l->module));
    close_driver(l->cu);
}

static void work_becomes_a_graph(void **state)
{
    (void)state;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    CUgraph graph = NULL;
    CUgraphExec exec;
    unsigned status = 99, *pinned;
    OK(cu->MemHostAlloc((void **)&pinned, 256, 0));
    OK(cu->StreamBeginCapture(l.a, GLOBAL));
    OK(cu->StreamIsCapturing(l.a, &status));
    assert_int_equal(status, ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cu->MemsetD32Async(l.at, 3, 64, l.a));
    for (int i = 0; i < 10; i++)
        OK(launch_add_one(cu, l.module, l.a, l.at, 64));
    OK(cu->MemcpyDtoHAsync(pinned, l.at, 256, l.a));
    OK(cu->StreamEndCapture(l.a, &graph));
    assert_non_null(graph);
    OK(cu->StreamIsCapturing(l.a, &status));
    assert_int_equal(status, ACU_CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cu->StreamSynchronize(l.a));
    assert_int_equal(word_at(cu, l.at), 0); /* nothing of it ran */
    size_t count = 0;
    OK(cu->GraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 12);
    OK(cu->GraphGetEdges(graph, NULL, NULL, &count));
    assert_int_equal(count, 11);
    OK(cu->GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu->GraphDestroy(graph));
    OK(cu->GraphLaunch(exec, l.a));
    OK(cu->StreamSynchronize(l.a));
    assert_int_equal(pinned[63], 13);
    OK(cu->GraphExecDestroy(exec));
    OK(cu->MemFreeHost(pinned));
    close_lab(&l);
}

static void other_streams_take_part(void **state)
{
    (void)state;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    CUgraph graph = NULL;
    CUgraphExec exec;
    unsigned status = 99;
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    OK(launch_store(cu, l.module, l.a, l.at, 5));
    OK(cu->EventRecord(l.fork, l.a));
    OK(cu->StreamWaitEvent(l.b, l.fork, 0));
    OK(cu->StreamIsCapturing(l.b, &status));
    assert_int_equal(status, ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(launch_copy(cu, l.module, l.b, l.at + 4, l.at, 1));
    OK(launch_copy(cu, l.module, l.a, l.at + 8, l.at, 1));
    OK(cu->EventRecord(l.join, l.b));
    OK(cu->StreamWaitEvent(l.a, l.join, 0));
    OK(launch_copy(cu, l.module, l.a, l.at + 12, l.at + 4, 2));
    OK(cu->StreamEndCapture(l.a, &graph));
    OK(cu->StreamIsCapturing(l.b, &status));
    assert_int_equal(status, ACU_CU_STREAM_CAPTURE_STATUS_NONE);
    size_t edges = 0;
    OK(cu->GraphGetEdges(graph, NULL, NULL, &edges));
    assert_int_equal(edges, 4); /* a diamond */
    OK(cu->GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu->GraphLaunch(exec, l.b));
    OK(cu->StreamSynchronize(l.b));
    assert_int_equal(word_at(cu, l.at + 12), 5);
    assert_int_equal(word_at(cu, l.at + 16), 5);
    OK(cu->GraphExecDestroy(exec));
    OK(cu->GraphDestroy(graph));
    close_lab(&l);
}

/* Ends a capture that was lost on the way. */
static void is_lost(const lab *l)
{
    CUgraph graph = (CUgraph)(uintptr_t)1;
    unsigned status = 99;
    OK(l->cu->StreamIsCapturing(l->a, &status));
    assert_int_equal(status, ACU_CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    IS(l->cu->StreamEndCapture(l->a, &graph), ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
    OK(l->cu->StreamSynchronize(l->a)); /* the stream is as before */
}

static void what_cannot_be_captured_ends_it(void **state)
{
    (void)state;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    CUgraph graph;
    CUdeviceptr at;
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    IS(cu->StreamBeginCapture(l.a, RELAXED), ERROR_ILLEGAL_STATE);
    IS(cu->StreamSynchronize(l.a), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    IS(launch_store(cu, l.module, l.a, l.at, 1), ERROR_STREAM_CAPTURE_INVALIDATED);
    is_lost(&l);
    /* The context stands for its streams. */
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    IS(cu->CtxSynchronize(), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_lost(&l);
    /* In global mode an allocation is refused, unless the thread has exchanged its capture mode. */
    OK(cu->StreamBeginCapture(l.a, GLOBAL));
    unsigned mode = RELAXED;
    OK(cu->ThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, GLOBAL);
    OK(cu->MemAlloc(&at, 16));
    OK(cu->MemFree(at));
    OK(cu->ThreadExchangeStreamCaptureMode(&mode));
    OK(launch_store(cu, l.module, l.a, l.at, 1));
    IS(cu->MemAlloc(&at, 16), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_lost(&l);
    /* A stream that became part of the capture has to be joined to it again. */
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    OK(launch_store(cu, l.module, l.a, l.at, 1));
    OK(cu->EventRecord(l.fork, l.a));
    OK(cu->StreamWaitEvent(l.b, l.fork, 0));
    OK(launch_store(cu, l.module, l.b, l.at, 1));
    IS(cu->StreamEndCapture(l.a, &graph), ERROR_STREAM_CAPTURE_UNJOINED);
    /* An event from outside. */
    OK(cu->EventRecord(l.join, l.b));
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    OK(cu->EventRecord(l.fork, l.a));
    IS(cu->StreamWaitEvent(l.a, l.join, 0), ERROR_STREAM_CAPTURE_ISOLATION);
    is_lost(&l);
    IS(cu->StreamBeginCapture(NULL, RELAXED), ERROR_STREAM_CAPTURE_UNSUPPORTED);
    IS(cu->StreamEndCapture(l.a, &graph), ERROR_ILLEGAL_STATE);
    OK(cu->EventRecord(l.fork, l.a)); /* an event is an event again */
    OK(cu->EventSynchronize(l.fork));
    close_lab(&l);
}

static void *end_elsewhere(void *user)
{
    lab *l = user;
    CUgraph graph = NULL;
    l->results[0] = l->cu->CtxSetCurrent(l->context);
    l->results[1] = l->cu->StreamEndCapture(l->a, &graph);
    return NULL;
}

/* Only the thread that began a capture can end it, on the stream where it began; two captures do
 * not become one. */
static void captures_stay_apart(void **state)
{
    (void)state;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    CUgraph graph = NULL;
    pthread_t thread;
    OK(cu->CtxGetCurrent(&l.context));
    OK(cu->StreamBeginCapture(l.a, ACU_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &l), 0);
    pthread_join(thread, NULL);
    OK(l.results[0]);
    IS(l.results[1], ERROR_STREAM_CAPTURE_WRONG_THREAD);
    unsigned status = 99; /* and yet that was its end */
    OK(cu->StreamIsCapturing(l.a, &status));
    assert_int_equal(status, ACU_CU_STREAM_CAPTURE_STATUS_NONE);
    IS(cu->StreamEndCapture(l.a, &graph), ERROR_ILLEGAL_STATE);
    /* Another stream of the capture can not end it. */
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    OK(cu->EventRecord(l.fork, l.a));
    OK(cu->StreamWaitEvent(l.b, l.fork, 0));
    IS(cu->StreamEndCapture(l.b, &graph), ERROR_STREAM_CAPTURE_UNMATCHED);
    is_lost(&l);
    /* Two captures, one of which waits for the other: both are lost. */
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    OK(cu->StreamBeginCapture(l.b, RELAXED));
    OK(cu->EventRecord(l.fork, l.b));
    IS(cu->StreamWaitEvent(l.a, l.fork, 0), ERROR_STREAM_CAPTURE_MERGE);
    IS(cu->StreamEndCapture(l.b, &graph), ERROR_STREAM_CAPTURE_INVALIDATED);
    is_lost(&l);
    close_lab(&l);
}

/* An event that stands for something in a capture is never reached; asking about it ends the
 * capture. */
static void captured_events_are_not_asked(void **state)
{
    (void)state;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    OK(cu->EventRecord(l.join, l.b));
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    OK(cu->EventRecord(l.fork, l.a));
    IS(cu->EventQuery(l.fork), ERROR_CAPTURED_EVENT);
    IS(cu->StreamWaitEvent(l.a, l.join, 0), ERROR_STREAM_CAPTURE_INVALIDATED);
    is_lost(&l);
    close_lab(&l);
}

/* With the EXTERNAL flags an event is not what was captured, but something that the graph does. */
static void external_events_become_nodes(void **state)
{
    (void)state;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[2];
    size_t count = 2;
    unsigned type;
    assert_int_not_equal(cu->EventRecordWithFlags(l.join, l.a, ACU_CU_EVENT_RECORD_EXTERNAL), 0);
    assert_int_not_equal(cu->StreamWaitEvent(l.a, l.join, ACU_CU_EVENT_WAIT_EXTERNAL), 0);
    OK(cu->StreamBeginCapture(l.a, RELAXED));
    OK(cu->StreamWaitEvent(l.a, l.fork, ACU_CU_EVENT_WAIT_EXTERNAL));
    OK(cu->EventRecordWithFlags(l.join, l.a, ACU_CU_EVENT_RECORD_EXTERNAL));
    OK(cu->StreamEndCapture(l.a, &graph));
    OK(cu->GraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    OK(cu->GraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, ACU_CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    OK(cu->GraphNodeGetType(nodes[1], &type));
    assert_int_equal(type, ACU_CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    OK(cu->GraphInstantiateWithFlags(&exec, graph, 0));
    OK(cu->GraphLaunch(exec, l.a)); /* once while nothing is held up */
    OK(cu->StreamSynchronize(l.a));
    gate g;
    gate_close(cu, &g, l.b);
    OK(cu->EventRecord(l.fork, l.b));
    OK(cu->GraphLaunch(exec, l.a));
    IS(cu->EventQuery(l.join), ERROR_NOT_READY);
    gate_open(&g);
    OK(cu->EventSynchronize(l.join));
    OK(cu->StreamSynchronize(l.a));
    OK(cu->GraphExecDestroy(exec));
    OK(cu->GraphDestroy(graph));
    close_lab(&l);
}

static void the_legacy_stream_must_stay_out(void **state)
{
    (void)state;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    CUstream blocking;
    CUgraph graph;
    OK(cu->StreamCreate(&blocking, ACU_CU_STREAM_DEFAULT));
    OK(cu->StreamBeginCapture(blocking, RELAXED));
    IS(cu->MemsetD32Async(l.at, 1, 1, NULL), ERROR_STREAM_CAPTURE_IMPLICIT);
    IS(cu->StreamEndCapture(blocking, &graph), ERROR_STREAM_CAPTURE_INVALIDATED);
    /* Asking whether the stream captures is allowed; asking whether it is idle, or waiting for it,
     * is not. */
    unsigned status;
    OK(cu->StreamBeginCapture(blocking, RELAXED));
    IS(cu->StreamIsCapturing(NULL, &status), ERROR_STREAM_CAPTURE_IMPLICIT);
    IS(cu->StreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL),
       ERROR_STREAM_CAPTURE_IMPLICIT);
    OK(cu->StreamIsCapturing(blocking, &status));
    assert_int_equal(status, ACU_CU_STREAM_CAPTURE_STATUS_ACTIVE);
    IS(cu->StreamQuery(NULL), ERROR_STREAM_CAPTURE_IMPLICIT);
    IS(cu->StreamEndCapture(blocking, &graph), ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cu->StreamBeginCapture(blocking, RELAXED));
    IS(cu->StreamSynchronize(NULL), ERROR_STREAM_CAPTURE_IMPLICIT);
    IS(cu->StreamEndCapture(blocking, &graph), ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cu->StreamQuery(NULL));
    OK(cu->StreamDestroy(blocking));
    close_lab(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_becomes_a_graph),
        cmocka_unit_test(other_streams_take_part),
        cmocka_unit_test(what_cannot_be_captured_ends_it),
        cmocka_unit_test(captures_stay_apart),
        cmocka_unit_test(captured_events_are_not_asked),
        cmocka_unit_test(external_events_become_nodes),
        cmocka_unit_test(the_legacy_stream_must_stay_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
