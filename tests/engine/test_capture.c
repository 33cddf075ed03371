/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * While the program captures a stream of its own, in each of CUDA's modes, acuda does its usual
 * work: the capture goes on, and contains nothing of that. The stream is a blocking one, whose
 * capture would also be broken by work on the legacy default stream, and by calls that wait by
 * themselves.
 */
#include "support/support.h"

#include <acuda/graph_cache.h>
#include <acuda/managed.h>

static const char kernel_ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                                 ".visible .entry nothing(.param .u64 p) { ret; }\n";

enum { N = 1000 };
#define VECTOR ACU_SHAPE(N)

static acu_device *device;
static CUstream captured;

static void begin_capture(unsigned mode)
{
    test_enter(device);
    assert_int_equal(acu_driver()->StreamCreate(&captured, 0), 0);
    assert_int_equal(acu_driver()->StreamBeginCapture(captured, mode), 0);
    test_leave(device);
}

static void end_capture(void)
{
    CUgraph graph = NULL;
    size_t nodes = 1;
    test_enter(device);
    assert_int_equal(acu_driver()->StreamEndCapture(captured, &graph), 0);
    assert_int_equal(acu_driver()->GraphGetNodes(graph, NULL, &nodes), 0);
    assert_int_equal(nodes, 0);
    assert_int_equal(acu_driver()->GraphDestroy(graph), 0);
    assert_int_equal(acu_driver()->StreamDestroy(captured), 0);
    test_leave(device);
}

/* ---- what acuda does meanwhile ---- */

static acu_status pass_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static acu_status enqueue(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)count;
    return acu_driver()->MemsetD8Async(acu_tensor_address(values[0].tensor), 1, N, stream) == 0
               ? ACU_OK
               : ACU_ERR_DRIVER;
}

static void submit_all_sorts(acu_device *on)
{
    static float pageable[N];
    acu_tensor *x = NULL;
    acu_buffer *wrapped = NULL;
    acu_module *module = test_load_ptx(on, "nothing", kernel_ptx);
    acu_kernel *kernel = NULL;
    assert_works(acu_kernel_get(module, "nothing", &kernel));
    assert_works(acu_sync(on, acu_full(VECTOR, acu_f32(2)), &x));
    for (int i = 0; i < 4; i++) /* the third time as a graph, perhaps */
        assert_works(acu_sync(
            on, acu_launch(kernel, ACU_GRID_BLOCK(1, 1, 1, 32, 1, 1), acu_inout(acu_add(x, x))),
            NULL));
    assert_works(acu_graph_cache_wait(on));
    assert_works(acu_sync(on, acu_host(pass_host, NULL, acu_inout(acu_to_host(x))), NULL));
    assert_works(acu_sync(on, acu_foreign(enqueue, NULL, acu_inout(x)), NULL));
    assert_works(
        acu_buffer_wrap_host(on, pageable, sizeof pageable, (acu_user){NULL, NULL}, &wrapped));
    acu_buffer_release(wrapped);
    assert_works(acu_read_sync(x, pageable, sizeof pageable));
    assert_works(acu_write_sync(x, pageable, sizeof pageable));
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    acu_module_release(module);
}

static void replay(acu_device *on)
{
    acu_graph *graph = NULL;
    assert_works(acu_graph_load(on, acu_zip(acu_zeros(ACU_F32, VECTOR), acu_ones(ACU_F32, VECTOR)),
                                NULL, &graph));
    assert_works(acu_sync(on, acu_replay(graph), NULL));
    acu_graph_release(graph);
}

static void use_by_hand(acu_device *on)
{
    acu_stream *stream = NULL, *forked = NULL;
    acu_event *event = NULL;
    acu_tensor *x = NULL;
    acu_use *use = NULL;
    assert_works(acu_tensor_alloc(on, ACU_F32, VECTOR, &x));
    assert_works(acu_stream_create(on, 0, &stream));
    assert_works(acu_use_begin_wait(stream, ACU_FOREVER, &use, acu_out(x)));
    assert_works(acu_use_end(use, ACU_OK, NULL));
    assert_works(acu_event_create(on, false, &event));
    assert_works(acu_event_record(event, stream));
    assert_works(acu_event_wait(event, ACU_FOREVER));
    assert_works(acu_stream_fork(stream, &forked));
    assert_works(acu_stream_wait(forked, ACU_FOREVER));
    acu_event_release(event);
    acu_stream_release(forked);
    acu_stream_release(stream);
    acu_tensor_release(x);
}

static void make_memory(acu_device *on)
{
    acu_pool *pool = NULL;
    acu_pool_options options = {.size = sizeof options};
    acu_buffer *buffers[4] = {NULL};
    size_t freed, total;
    assert_works(acu_pool_create(on, &options, &pool));
    assert_works(acu_buffer_create_from(pool, N, &buffers[0]));
    assert_works(acu_buffer_create(on, N, &buffers[1]));
    assert_works(acu_buffer_create_pinned(on, N, &buffers[2]));
    if (acu_device_info_of(on)->managed_memory)
        assert_works(acu_buffer_create_managed(on, N, &buffers[3]));
    for (int i = 0; i < 4; i++)
        acu_buffer_release(buffers[i]);
    assert_works(acu_device_wait(on, ACU_FOREVER));
    assert_works(acu_pool_trim(acu_device_pool(on), 0, &freed));
    assert_works(acu_pool_trim(acu_device_pinned_pool(on, false), 0, &freed));
    acu_pool_release(pool);
    assert_works(acu_device_memory(on, &freed, &total));
}

static void do_everything(void)
{
    acu_open_options options = test_options(0);
    acu_device *more = NULL;
    submit_all_sorts(device);
    replay(device);
    use_by_hand(device);
    make_memory(device);
    options.ordinal = 1;
    if (acu_open(&options, &more) != ACU_OK)
        return; /* there is one only */
    acu_status st = acu_device_open_peer(device, more);
    assert_true(st == ACU_OK || st == ACU_ERR_NOT_SUPPORTED);
    submit_all_sorts(more);
    acu_tensor *x = NULL;
    assert_works(
        acu_sync(device, acu_to_device(device, acu_on(more, acu_ones(ACU_F32, VECTOR))), &x));
    acu_tensor_release(x);
    test_close(more);
}

static void captured_meanwhile(unsigned mode)
{
    device = test_open();
    begin_capture(mode);
    do_everything();
    end_capture();
    test_close(device);
    test_leaks_none();
}

static void a_global_capture_goes_on(void **state)
{
    (void)state;
    captured_meanwhile(ACU_CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void a_capture_of_the_thread_goes_on(void **state)
{
    (void)state;
    captured_meanwhile(ACU_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static void a_relaxed_capture_goes_on(void **state)
{
    (void)state;
    captured_meanwhile(ACU_CU_STREAM_CAPTURE_MODE_RELAXED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_global_capture_goes_on),
        cmocka_unit_test(a_capture_of_the_thread_goes_on),
        cmocka_unit_test(a_relaxed_capture_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
