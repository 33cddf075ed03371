/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Declared uses: work placed on streams by hand comes behind what was submitted on the same data
 * before, and before what is submitted later; its failures are passed on along the data.
 */
#include "support/support.h"

#include <pthread.h>
#include <stdatomic.h>

enum { N = 64 };
#define VECTOR ACU_SHAPE(N)
#define BYTES (N * sizeof(float))

/* ---- helpers ---- */

typedef struct bench {
    acu_device *device;
    acu_stream *stream, *other;
    acu_tensor *x, *y;
} bench;

static acu_tensor *make(acu_device *device, float value)
{
    acu_tensor *tensor;
    assert_works(acu_sync(device, acu_full(VECTOR, acu_f32(value)), &tensor));
    return tensor;
}

static bench begin_with(bool runtime_thread)
{
    bench b;
    acu_open_options options = test_options(0);
    options.runtime_thread = runtime_thread;
    assert_works(acu_open(&options, &b.device));
    assert_works(acu_stream_create(b.device, 0, &b.stream));
    assert_works(acu_stream_create(b.device, 0, &b.other));
    b.x = make(b.device, 1);
    b.y = make(b.device, 2);
    return b;
}

static bench begin(void)
{
    return begin_with(false);
}

static void end(bench *b)
{
    acu_driver_fail_clear();
    acu_stream_release(b->stream);
    acu_stream_release(b->other);
    acu_tensor_release(b->x);
    acu_tensor_release(b->y);
    test_close(b->device);
    test_leaks_none();
}

static void holds(acu_tensor *tensor, float want)
{
    float x[N];
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        if (x[i] != want)
            fail_msg("element %d is %g, not %g", i, (double)x[i], (double)want);
}

/* By hand: y becomes x. */
static void copy_by_hand(const bench *b)
{
    test_enter(b->device);
    assert_int_equal(acu_driver()->MemcpyDtoDAsync(acu_tensor_address(b->y),
                                                   acu_tensor_address(b->x), BYTES,
                                                   acu_stream_raw(b->stream)), 0);
    test_leave(b->device);
}

static acu_future *submit_on(acu_stream *stream, acu_op *op)
{
    acu_future *future;
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    assert_works(acu_submit(NULL, op, &options, &future));
    return future;
}

static void ends(acu_future *future, acu_status status)
{
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), status);
    acu_future_release(future);
}

/* A write of x that is issued once the gate is open; until then none of it is on the device. */
static acu_future *write_x_later(const bench *b)
{
    test_host_gate_close();
    acu_op *host = acu_host(test_pass_host_gate, NULL,
                            acu_inout(acu_to_host(acu_full(VECTOR, acu_f32(9)))));
    acu_future *future;
    assert_works(acu_submit(b->device, acu_copy(b->x, host), NULL, &future));
    return future;
}

static _Atomic(int) enqueued;

static acu_status note_enqueued(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    atomic_fetch_add(&enqueued, 1);
    return ACU_OK;
}

/* ---- order ---- */

static void behind_what_was_submitted(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use;
    test_gate_close(b.device, acu_stream_raw(b.other));
    acu_future *before = submit_on(b.other, acu_fill(b.x, acu_f32(5)));
    assert_works(acu_use_begin(b.stream, &use, acu_in(b.x), acu_out(b.y)));
    copy_by_hand(&b);
    assert_works(acu_use_end(use, ACU_OK, NULL));
    assert_int_equal(acu_stream_poll(b.stream), ACU_NOT_READY);
    test_gate_open();
    holds(b.y, 5);
    ends(before, ACU_OK);
    end(&b);
}

static void before_what_is_submitted_later(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use;
    acu_future *future, *reader, *writer;
    atomic_store(&enqueued, 0);
    assert_works(acu_use_begin(b.stream, &use, acu_in(b.x), acu_out(b.y)));
    test_gate_close(b.device, acu_stream_raw(b.stream));
    copy_by_hand(&b);
    /* The reader stays on the host until the use ends; work on other data is issued. */
    reader = submit_on(b.other, acu_foreign(note_enqueued, NULL, acu_in(b.y)));
    writer = submit_on(b.other, acu_fill(b.x, acu_f32(7)));
    acu_future *beside = submit_on(b.other, acu_foreign(note_enqueued, NULL, acu_in(b.x)));
    assert_int_equal(atomic_load(&enqueued), 0);
    acu_tensor *copy = NULL;
    acu_future *copied = submit_on(b.other, acu_dup(b.y));
    assert_works(acu_use_end(use, ACU_OK, &future));
    assert_int_equal(atomic_load(&enqueued), 2);
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    assert_int_equal(acu_future_poll(copied), ACU_NOT_READY);
    test_gate_open();
    ends(future, ACU_OK);
    assert_works(acu_future_take(copied, 0, &copy));
    holds(copy, 1);
    holds(b.x, 7);
    ends(reader, ACU_OK);
    ends(writer, ACU_OK);
    ends(beside, ACU_OK);
    ends(copied, ACU_OK);
    acu_tensor_release(copy);
    end(&b);
}

static void uses_that_share_nothing_are_not_ordered(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *a, *c;
    acu_driver_count_calls(true);
    assert_works(acu_use_begin(b.stream, &a, acu_in(b.x)));
    assert_works(acu_use_begin(b.other, &c, acu_in(b.x), acu_inout(b.y)));
    assert_int_equal(acu_driver_calls(ACU_CALL_StreamWaitEvent), 0);
    acu_driver_count_calls(false);
    assert_works(acu_use_end(c, ACU_OK, NULL));
    assert_works(acu_use_end(a, ACU_OK, NULL));
    end(&b);
}

/* ---- what is not on the device yet ---- */

static void *open_soon(void *stream)
{
    (void)stream;
    test_host_gate_open();
    return NULL;
}

static void behind_what_is_not_issued_yet(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use = NULL;
    acu_future *before = write_x_later(&b);
    assert_int_equal(acu_use_begin(b.stream, &use, acu_in(b.x)), ACU_NOT_READY);
    assert_int_equal(acu_use_begin_wait(b.stream, 0, &use, acu_in(b.x)), ACU_TIMEOUT);
    assert_null(use);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_soon, NULL), 0);
    assert_works(acu_use_begin_wait(b.stream, ACU_FOREVER, &use, acu_in(b.x), acu_out(b.y)));
    copy_by_hand(&b);
    assert_works(acu_use_end(use, ACU_OK, NULL));
    holds(b.y, 9);
    pthread_join(thread, NULL);
    ends(before, ACU_OK);
    end(&b);
}

static void behind_what_was_handed_over(void **state)
{
    (void)state;
    bench b = begin_with(true);
    for (int i = 0; i < 20; i++) {
        acu_use *use;
        assert_works(acu_submit(b.device, acu_fill(b.x, acu_f32((float)i)), NULL, NULL));
        assert_works(acu_use_begin_wait(b.stream, ACU_FOREVER, &use, acu_in(b.x), acu_out(b.y)));
        copy_by_hand(&b);
        assert_works(acu_use_end(use, ACU_OK, NULL));
        holds(b.y, (float)i);
    }
    end(&b);
}

/* The device's thread is done with the submission, although nothing of it was entered. */
static void behind_what_was_refused_when_planned(void **state)
{
    (void)state;
    bench b = begin_with(true);
    acu_use *use;
    acu_future *refused;
    assert_works(acu_submit(b.device, acu_nth(acu_fill(b.x, acu_f32(9)), 2), NULL, &refused));
    assert_works(acu_use_begin_wait(b.stream, ACU_FOREVER, &use, acu_in(b.x), acu_out(b.y)));
    copy_by_hand(&b);
    assert_works(acu_use_end(use, ACU_OK, NULL));
    ends(refused, ACU_ERR_ARGUMENTS);
    holds(b.y, 1);
    end(&b);
}

static acu_op *use_in_then(void *user, acu_val *values, size_t count)
{
    bench *b = user;
    acu_use *use;
    (void)count;
    assert_works(acu_use_begin(b->stream, &use, acu_in(b->x), acu_out(b->y)));
    copy_by_hand(b);
    assert_works(acu_use_end(use, ACU_OK, NULL));
    return acu_take(&values[0]);
}

/* What the op had planned by then comes first. */
static void inside_a_then(void **state)
{
    (void)state;
    bench b = begin();
    assert_works(acu_sync(b.device, acu_then(acu_fill(b.x, acu_f32(8)), use_in_then, &b), NULL));
    holds(b.y, 8);
    end(&b);
}

/* ---- failures ---- */

static void failures_flow(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use = NULL;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_MemsetD32Async, .nth = 1};
    assert_works(acu_driver_fail(&fault));
    ends(submit_on(b.other, acu_fill(b.x, acu_f32(5))), ACU_ERR_DRIVER);
    assert_fails(acu_use_begin(b.stream, &use, acu_in(b.x), acu_out(b.y)), ACU_ERR_DEPENDENCY,
                 "cuMemsetD32Async");
    assert_null(use);
    /* Overwriting the data ends the failure. */
    assert_works(acu_use_begin(b.stream, &use, acu_out(b.x)));
    assert_works(acu_use_end(use, ACU_OK, NULL));
    ends(submit_on(b.other, acu_dup(b.x)), ACU_OK);
    /* The work by hand failed. */
    acu_future *future;
    assert_works(acu_use_begin(b.stream, &use, acu_in(b.x), acu_out(b.y)));
    acu_future *reader = submit_on(b.other, acu_dup(b.y));
    assert_works(acu_use_end(use, ACU_ERR_INVALID, &future));
    acu_error error;
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CALLBACK);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_CALLBACK);
    assert_non_null(strstr(error.message, "ACU_ERR_INVALID"));
    assert_non_null(strstr(error.file, "test_use.c"));
    acu_future_release(future);
    ends(reader, ACU_ERR_DEPENDENCY);
    ends(submit_on(b.other, acu_dup(b.x)), ACU_OK); /* it was only read */
    ends(submit_on(b.other, acu_fill(b.y, acu_f32(3))), ACU_OK);
    holds(b.y, 3);
    end(&b);
}

/* ---- lifetime ---- */

static void it_keeps_what_it_uses(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use;
    acu_queue *queue;
    acu_future *future;
    acu_completion done;
    size_t count;
    acu_tensor *x = make(b.device, 4);
    CUdeviceptr from = acu_tensor_address(x);
    assert_works(acu_use_begin(b.stream, &use, acu_in(x), acu_out(b.y)));
    acu_tensor_release(x);
    test_enter(b.device);
    assert_int_equal(acu_driver()->MemcpyDtoDAsync(acu_tensor_address(b.y), from, BYTES,
                                                   acu_stream_raw(b.stream)), 0);
    test_leave(b.device);
    assert_works(acu_use_end(use, ACU_OK, &future));
    assert_works(acu_queue_create(NULL, &queue));
    assert_works(acu_future_when_complete(future, queue, 3, NULL, ACU_USER(NULL)));
    assert_works(acu_queue_wait(queue, &done, 1, &count, ACU_FOREVER));
    assert_true(count == 1 && done.tag == 3 && done.status == ACU_OK);
    acu_future_release(done.future);
    acu_future_release(future);
    acu_queue_release(queue);
    holds(b.y, 4);
    end(&b);
}

/* Another library's stream, and the same memory seen as its own. */
static void foreign_streams_and_memory(void **state)
{
    (void)state;
    bench b = begin();
    CUstream raw;
    acu_stream *wrapped;
    acu_use *use;
    test_enter(b.device);
    assert_int_equal(acu_driver()->StreamCreate(&raw, ACU_CU_STREAM_NON_BLOCKING), 0);
    test_leave(b.device);
    assert_works(acu_stream_wrap(b.device, raw, &wrapped));
    test_gate_close(b.device, acu_stream_raw(b.other));
    acu_future *before = submit_on(b.other, acu_fill(b.x, acu_f32(6)));
    assert_works(acu_use_begin(wrapped, &use, acu_in(b.x), acu_out(b.y)));
    test_enter(b.device);
    assert_int_equal(acu_driver()->MemcpyDtoDAsync(acu_tensor_address(b.y),
                                                   acu_tensor_address(b.x), BYTES, raw), 0);
    test_leave(b.device);
    assert_works(acu_use_end(use, ACU_OK, NULL));
    test_gate_open();
    holds(b.y, 6);
    ends(before, ACU_OK);
    acu_stream_release(wrapped);
    assert_works(acu_device_wait(b.device, ACU_FOREVER));
    test_quiet(b.device);
    test_enter(b.device);
    assert_int_equal(acu_driver()->StreamDestroy(raw), 0);
    test_leave(b.device);
    end(&b);
}

/* ---- wrong use ---- */

static acu_status use_in_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    bench *b = user;
    acu_use *use;
    (void)stream, (void)values, (void)count;
    return acu_use_begin(b->other, &use, acu_in(b->y)) == ACU_ERR_IN_CALLBACK ? ACU_OK
                                                                              : ACU_ERR_INVALID;
}

static void wrong_use(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use = NULL;
    assert_fails(acu_use_begin(b.stream, &use, acu_in(acu_zeros(ACU_F32, VECTOR))),
                 ACU_ERR_INVALID, "acu_use_begin|argument 0");
    assert_fails(acu_use_begin(b.stream, &use, acu_in(b.x), acu_f32(1)), ACU_ERR_INVALID,
                 "argument 1");
    assert_fails((acu_use_begin)(b.stream, NULL, 0, ACU_SITE, &use), ACU_ERR_INVALID, "nothing");
    assert_fails(acu_use_begin(b.stream, (acu_use **)NULL, acu_in(b.x)), ACU_ERR_INVALID,
                 "nowhere");
    assert_fails(acu_use_begin((acu_stream *)NULL, &use, acu_in(b.x)), ACU_ERR_INVALID, "stream");
    assert_works(acu_sync_on(b.stream, acu_foreign(use_in_foreign, &b, acu_in(b.x)), NULL));
    /* Captures of the program's are left alone. */
    test_enter(b.device);
    CUgraph graph;
    assert_int_equal(acu_driver()->StreamBeginCapture(acu_stream_raw(b.stream),
                                                      ACU_CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_fails(acu_use_begin(b.stream, &use, acu_in(b.x)), ACU_ERR_CAPTURE,
                 "acu_use_begin: |captur");
    assert_int_equal(acu_driver()->StreamEndCapture(acu_stream_raw(b.stream), &graph), 0);
    assert_int_equal(acu_driver()->GraphDestroy(graph), 0);
    assert_works(acu_use_begin(b.stream, &use, acu_in(b.x)));
    assert_int_equal(acu_driver()->StreamBeginCapture(acu_stream_raw(b.stream),
                                                      ACU_CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    assert_fails(acu_use_end(use, ACU_OK, NULL), ACU_ERR_CAPTURE, "acu_use_end: |captur");
    assert_int_equal(acu_driver()->StreamEndCapture(acu_stream_raw(b.stream), &graph), 0);
    assert_int_equal(acu_driver()->GraphDestroy(graph), 0);
    test_leave(b.device);
    assert_works(acu_use_end(use, ACU_OK, NULL));
    assert_fails(acu_use_end(use, ACU_OK, NULL), ACU_ERR_BAD_HANDLE, "use was released");
    end(&b);
}

/* Work that comes behind it goes on all the same. */
static void ended_without_memory_for_a_future(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use;
    acu_future *future = NULL;
    assert_works(acu_use_begin(b.stream, &use, acu_in(b.x), acu_out(b.y)));
    copy_by_hand(&b);
    acu_future *behind = submit_on(b.other, acu_fill(b.x, acu_f32(7)));
    acu_debug_fail_alloc(1, false);
    acu_status status = acu_use_end(use, ACU_OK, &future);
    acu_debug_fail_alloc(0, false);
    assert_fails(status, ACU_ERR_NO_MEMORY, "");
    assert_null(future);
    ends(behind, ACU_OK);
    holds(b.y, 1);
    end(&b);
}

/* The driver can not say whether the stream is captured: ending the use does not fail for that. */
static void what_can_not_be_asked_leaves_no_record(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use;
    acu_stream_raw(b.stream);
    assert_works(acu_use_begin(b.stream, &use, acu_in(b.x)));
    assert_fails(acu_use_end(NULL, ACU_OK, NULL), ACU_ERR_INVALID, "use is NULL");
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_StreamIsCapturing};
    assert_works(acu_driver_fail(&fault));
    assert_works(acu_use_end(use, ACU_OK, NULL));
    assert_int_equal(acu_driver_fault_hits(), 1);
    acu_driver_fail_clear();
    assert_int_equal(acu_last_error()->status, ACU_ERR_INVALID);
    end(&b);
}

/* ---- many threads ---- */

typedef struct worker {
    bench *b;
    acu_stream *stream;
} worker;

/* Adds one to x by hand, by way of the host: an addition that another one interrupted would be
 * lost. */
static void *add_by_hand(void *user)
{
    worker *w = user;
    for (int i = 0; i < 50; i++) {
        acu_use *use;
        float host[N];
        CUdeviceptr at = acu_tensor_address(w->b->x);
        if (acu_use_begin_wait(w->stream, ACU_FOREVER, &use, acu_inout(w->b->x)) != ACU_OK)
            return "begin";
        test_enter(w->b->device);
        const acu_driver_table *cu = acu_driver();
        unsigned bad = cu->MemcpyDtoHAsync(host, at, BYTES, acu_stream_raw(w->stream));
        bad |= cu->StreamSynchronize(acu_stream_raw(w->stream));
        for (int k = 0; k < N; k++)
            host[k] += 1;
        bad |= cu->MemcpyHtoDAsync(at, host, BYTES, acu_stream_raw(w->stream));
        bad |= cu->StreamSynchronize(acu_stream_raw(w->stream));
        test_leave(w->b->device);
        if (acu_use_end(use, bad ? ACU_ERR_DRIVER : ACU_OK, NULL) != ACU_OK || bad)
            return "end";
    }
    return NULL;
}

static void from_many_threads(void **state)
{
    (void)state;
    bench b = begin();
    pthread_t threads[2];
    worker workers[2] = {{&b, b.stream}, {&b, b.other}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_by_hand, &workers[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        if (wrong)
            fail_msg("a thread could not %s a use", (const char *)wrong);
    }
    holds(b.x, 1 + 2 * 50);
    end(&b);
}

/* ---- the default stream that each thread has ---- */

typedef struct of_another {
    const bench *b;
    acu_stream *stream; /* of the first thread */
    const char *wrong;
} of_another;

/* Its own copy of x, by hand; and what it may not do with the other's stream. */
static const char *use_own_and_others(const of_another *o)
{
    acu_stream *own;
    acu_use *use, *none = NULL;
    if (acu_stream_poll(o->stream) != ACU_ERR_INVALID)
        return "the other's stream was looked at";
    if (acu_use_begin(o->stream, &none, acu_in(o->b->x)) != ACU_ERR_INVALID)
        return "a use began on the other's stream";
    if (acu_stream_wrap(o->b->device, ACU_CU_STREAM_PER_THREAD, &own) != ACU_OK ||
        acu_use_begin(own, &use, acu_in(o->b->x), acu_out(o->b->y)) != ACU_OK)
        return "no use of its own stream";
    bench b = *o->b;
    b.stream = own;
    copy_by_hand(&b);
    acu_status ended = acu_use_end(use, ACU_OK, NULL);
    acu_stream_release(own);
    return ended == ACU_OK ? NULL : "its use did not end";
}

static void *another_thread(void *context)
{
    of_another *o = context;
    o->wrong = use_own_and_others(o);
    return NULL;
}

static void streams_of_threads(void **state)
{
    (void)state;
    bench b = begin();
    acu_stream *own;
    acu_use *use;
    acu_policy *policy;
    pthread_t thread;
    assert_works(acu_stream_wrap(b.device, ACU_CU_STREAM_PER_THREAD, &own));
    acu_submit_options options = {.size = sizeof options, .stream = own};
    assert_fails(acu_submit(b.device, acu_fill(b.x, acu_f32(3)), &options, NULL), ACU_ERR_INVALID,
                 "per-thread|any thread");
    assert_fails(acu_policy_single(b.device, own, &policy), ACU_ERR_INVALID, "per-thread");
    test_gate_close(b.device, ACU_CU_STREAM_PER_THREAD);
    assert_works(acu_use_begin(own, &use, acu_out(b.x)));
    test_enter(b.device);
    const float five = 5;
    uint32_t bits;
    memcpy(&bits, &five, sizeof bits);
    assert_int_equal(acu_driver()->MemsetD32Async(acu_tensor_address(b.x), bits, N,
                                                  ACU_CU_STREAM_PER_THREAD), 0);
    test_leave(b.device);
    assert_works(acu_use_end(use, ACU_OK, NULL));
    of_another o = {.b = &b, .stream = own};
    assert_int_equal(pthread_create(&thread, NULL, another_thread, &o), 0);
    pthread_join(thread, NULL);
    test_gate_open();
    if (o.wrong)
        fail_msg("another thread: %s", o.wrong);
    holds(b.y, 5);
    acu_stream_release(own);
    end(&b);
}

static void no_events(void)
{
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventRecord, .nth = 1,
                              .from_then_on = true, .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
}

/* Fills b->x on its own stream, where the driver gives no event, and ends. */
static void *use_and_end(void *user)
{
    bench *b = user;
    acu_stream *own;
    acu_use *use;
    uint32_t bits;
    memcpy(&bits, &(float){5}, sizeof bits);
    if (acu_stream_wrap(b->device, ACU_CU_STREAM_PER_THREAD, &own) != ACU_OK ||
        acu_use_begin(own, &use, acu_out(b->x)) != ACU_OK)
        return NULL;
    acu_driver()->CtxPushCurrent(acu_device_context(b->device));
    acu_driver()->MemsetD32Async(acu_tensor_address(b->x), bits, N, ACU_CU_STREAM_PER_THREAD);
    acu_driver()->CtxPopCurrent(&(CUcontext){0});
    no_events();
    acu_status status = acu_use_end(use, ACU_OK, NULL);
    bool hit = acu_driver_fault_hits() > 0;
    acu_driver_fail_clear();
    acu_stream_release(own);
    return status == ACU_OK && hit ? user : NULL;
}

/* A thread that asks the driver about such a stream asks about its own one, and the thread that
 * could ask is gone when others wait for the work: so ending the use waited for it. */
static void streams_of_threads_without_events(void **state)
{
    (void)state;
    bench b = begin();
    pthread_t other;
    void *done = NULL;
    assert_int_equal(pthread_create(&other, NULL, use_and_end, &b), 0);
    pthread_join(other, &done);
    assert_non_null(done);
    assert_works(acu_sync(b.device, acu_copy(b.y, b.x), NULL));
    holds(b.y, 5);
    end(&b);
}

/* A call that the driver refuses once is tried again, since nobody else could ask later. */
static void refused_once(void **state)
{
    (void)state;
    setenv("SOFTCUDA_FAULTS", "StreamSynchronize#1=out-of-memory", 1);
    bench b = begin();
    pthread_t other;
    void *done = NULL;
    assert_int_equal(pthread_create(&other, NULL, use_and_end, &b), 0);
    pthread_join(other, &done);
    assert_non_null(done);
    assert_works(acu_sync(b.device, acu_copy(b.y, b.x), NULL));
    holds(b.y, 5);
    end(&b);
}

static void streams_of_threads_whose_wait_fails(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("refused_once");
}

typedef struct wrapped {
    acu_device *device;
    acu_stream *stream;
    pthread_t thread;
    acu_status status;
} wrapped;

static void *wrap_own(void *context)
{
    wrapped *w = context;
    w->thread = pthread_self();
    w->status = acu_stream_wrap(w->device, ACU_CU_STREAM_PER_THREAD, &w->stream);
    return NULL;
}

static void *poll_once_more(void *context)
{
    wrapped *w = context;
    w->status =
        pthread_equal(w->thread, pthread_self()) ? acu_stream_poll(w->stream) : ACU_NOT_READY;
    return NULL;
}

/* A thread that gets the identifier of one that has ended has another stream all the same. */
static void streams_of_threads_that_have_ended(void **state)
{
    (void)state;
    wrapped w = {.device = test_open()};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wrap_own, &w), 0);
    pthread_join(thread, NULL);
    assert_works(w.status);
    w.status = ACU_NOT_READY;
    for (int i = 0; i < 20 && w.status == ACU_NOT_READY; i++) { /* mostly the first has it */
        assert_int_equal(pthread_create(&thread, NULL, poll_once_more, &w), 0);
        pthread_join(thread, NULL);
    }
    assert_true(w.status == ACU_ERR_INVALID || w.status == ACU_NOT_READY);
    acu_stream_release(w.stream);
    test_close(w.device);
    test_leaks_none();
}

/* The usual way of making the context current fails: the work on the stream gets a mark all the
 * same, and does not count as over too early. */
static void ended_where_calls_fail(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use;
    acu_future *future;
    test_gate_close(b.device, acu_stream_raw(b.stream));
    assert_works(acu_use_begin(b.stream, &use, acu_out(b.x)));
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_CtxGetCurrent,
                              .from_then_on = true,
                              .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    assert_works(acu_use_end(use, ACU_OK, &future));
    assert_true(acu_driver_fault_hits() > 0);
    acu_driver_fail_clear();
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    test_gate_open();
    ends(future, ACU_OK);
    end(&b);
}

/* There is no event behind the use, and since the program captures the stream, the driver can not
 * be asked whether it is idle. The capture is left alone, and the use is over once the capture has
 * ended. */
static void a_capture_behind_a_use_without_an_event(void **state)
{
    (void)state;
    bench b = begin();
    const acu_driver_table *cu = acu_driver();
    acu_use *use;
    acu_future *future;
    CUgraph graph = NULL;
    CUstream raw = acu_stream_raw(b.stream);
    test_gate_close(b.device, raw);
    assert_works(acu_use_begin(b.stream, &use, acu_out(b.x)));
    no_events();
    assert_works(acu_use_end(use, ACU_OK, &future));
    assert_true(acu_driver_fault_hits() > 0);
    acu_driver_fail_clear();
    test_enter(b.device);
    assert_int_equal(cu->StreamBeginCapture(raw, ACU_CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    assert_int_equal(cu->StreamEndCapture(raw, &graph), 0);
    assert_int_equal(cu->GraphDestroy(graph), 0);
    test_leave(b.device);
    test_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_device_status(b.device, NULL));
    acu_future_release(future);
    end(&b);
}

/* ---- in a process of their own ---- */

/* The device is lost before the use ends: ending it makes no driver call on the lost context. */
static void lost_meanwhile(void **state)
{
    (void)state;
    bench b = begin();
    acu_use *use;
    acu_future *future = NULL;
    assert_works(acu_use_begin(b.stream, &use, acu_in(b.x), acu_out(b.y)));
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_StreamQuery,
                              .result = ACU_CUDA_ERROR_ILLEGAL_ADDRESS};
    assert_works(acu_driver_fail(&fault));
    assert_fails(acu_stream_poll(b.other), ACU_ERR_DEVICE_LOST, "ILLEGAL_ADDRESS");
    assert_string_equal(acu_last_error()->driver_call, "cuStreamQuery");
    acu_driver_fail_clear();
    acu_driver_count_calls(true);
    assert_works(acu_use_end(use, ACU_OK, &future));
    assert_int_equal(acu_driver_calls(ACU_CALL_EventRecord), 0);
    assert_int_equal(acu_driver_calls(ACU_CALL_StreamIsCapturing), 0);
    ends(future, ACU_ERR_DEVICE_LOST);
    acu_stream_release(b.stream);
    acu_stream_release(b.other);
    acu_tensor_release(b.x);
    acu_tensor_release(b.y);
    acu_close(b.device);
    assert_int_equal(acu_debug_live(ACU_OBJECT_USE), 0);
}

static void the_device_is_lost_meanwhile(void **state)
{
    (void)state;
    test_in_process("lost_meanwhile");
}

/* Nothing was submitted in this process: closing waits for the use all the same. */
static void first_of_all(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream;
    acu_tensor *x;
    acu_use *use;
    acu_future *future;
    assert_works(acu_stream_create(device, 0, &stream));
    assert_works(acu_tensor_alloc(device, ACU_F32, VECTOR, &x));
    assert_works(acu_use_begin(stream, &use, acu_out(x)));
    assert_works(acu_use_end(use, ACU_OK, &future));
    acu_tensor_release(x);
    acu_stream_release(stream);
    test_close(device);
    assert_int_equal(acu_future_poll(future), ACU_OK);
    acu_future_release(future);
    test_leaks_none();
}

static void before_anything_else(void **state)
{
    (void)state;
    test_in_process("first_of_all");
}

int main(int argc, char **argv)
{
    static const test_case cases[] = {{"first_of_all", first_of_all},
                                      {"lost_meanwhile", lost_meanwhile},
                                      {"refused_once", refused_once}};
    if (argc > 1)
        return test_run_case(cases, sizeof cases / sizeof *cases, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_what_was_submitted),
        cmocka_unit_test(before_what_is_submitted_later),
        cmocka_unit_test(uses_that_share_nothing_are_not_ordered),
        cmocka_unit_test(behind_what_is_not_issued_yet),
        cmocka_unit_test(behind_what_was_handed_over),
        cmocka_unit_test(behind_what_was_refused_when_planned),
        cmocka_unit_test(inside_a_then),
        cmocka_unit_test(failures_flow),
        cmocka_unit_test(it_keeps_what_it_uses),
        cmocka_unit_test(foreign_streams_and_memory),
        cmocka_unit_test(wrong_use),
        cmocka_unit_test(ended_without_memory_for_a_future),
        cmocka_unit_test(what_can_not_be_asked_leaves_no_record),
        cmocka_unit_test(from_many_threads),
        cmocka_unit_test(the_device_is_lost_meanwhile),
        cmocka_unit_test(before_anything_else),
        cmocka_unit_test(streams_of_threads),
        cmocka_unit_test(streams_of_threads_without_events),
        cmocka_unit_test(streams_of_threads_whose_wait_fails),
        cmocka_unit_test(streams_of_threads_that_have_ended),
        cmocka_unit_test(ended_where_calls_fail),
        cmocka_unit_test(a_capture_behind_a_use_without_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
