/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* DLPack by its ABI, with an invented other side: structs, flags, streams, deleters. */
#include "adapters/dlpack_abi.h"
#include "support/one_device.h"

#include <acuda/adapters/dlpack.h>
#include <pthread.h>

typedef struct DLManagedTensorVersioned versioned;

static acu_stream *stream;

static int setup(void **state)
{
    device_setup(state);
    assert_works(acu_stream_create(device, 0, &stream));
    return 0;
}

static int setup_runtime(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    assert_works(acu_open(&options, &device));
    assert_works(acu_stream_create(device, 0, &stream));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    acu_stream_release(stream);
    test_close(device);
    acu_dlpack_drain();
    test_leaks_none();
    return 0;
}

static int device_type(void)
{
    return acu_device_info_of(device)->software ? ACUI_DL_EXTENSION : ACUI_DL_CUDA;
}

static intptr_t number(void)
{
    return (intptr_t)acu_stream_raw(stream);
}

/* ---- export ---------------------------------------------------------------------------------- */

static void an_export_says_what_the_tensor_is(void **state)
{
    (void)state;
    acu_tensor *x = NULL, *view = NULL;
    versioned *m = NULL;
    int type, id;
    assert_works(acu_sync(device, acu_zeros(ACU_BF16, ACU_SHAPE(4, 6)), &x));
    assert_works(acu_tensor_slice_step(x, (int64_t[]){1, 2}, (int64_t[]){4, 6}, (int64_t[]){2, 3},
                                       &view));
    assert_works(acu_dlpack_export(view, number(), 0, &m));
    assert_int_equal(m->version.major, 1);
    assert_int_equal(m->flags, 0);
    assert_int_equal(m->tensor.device.type, device_type());
    assert_int_equal(m->tensor.device.id, 0);
    assert_int_equal(m->tensor.dtype.code, ACUI_DL_BFLOAT);
    assert_int_equal(m->tensor.dtype.bits, 16);
    assert_int_equal(m->tensor.dtype.lanes, 1);
    assert_int_equal(m->tensor.rank, 2);
    assert_int_equal(m->tensor.shape[0], 2);
    assert_int_equal(m->tensor.shape[1], 2);
    assert_int_equal(m->tensor.strides[0], 12);
    assert_int_equal(m->tensor.strides[1], 3);
    assert_int_equal((uintptr_t)m->tensor.data + m->tensor.byte_offset, acu_tensor_address(view));
    assert_works(acu_dlpack_device(view, &type, &id));
    assert_int_equal(type, device_type());
    assert_int_equal(id, 0);
    acu_tensor_release(view); /* the struct keeps it */
    acu_tensor_release(x);
    assert_int_equal(acu_debug_live(ACU_OBJECT_TENSOR), 1);
    m->deleter(m);
}

static void what_must_not_be_written_is_exported_so(void **state)
{
    (void)state;
    acu_tensor *x = NULL, *wide = NULL;
    versioned *m = NULL;
    struct DLManagedTensor *old = NULL;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(4)), &x));
    assert_works(acu_tensor_broadcast_to(x, ACU_SHAPE(3, 4), &wide));
    assert_works(acu_dlpack_export(wide, number(), 0, &m));
    assert_int_equal(m->flags, ACUI_DL_READ_ONLY);
    assert_int_equal(m->tensor.strides[0], 0);
    assert_fails(acu_dlpack_to_old(m, &old), ACU_ERR_SHARED, "read-only");
    acu_dlpack_release(m);
    assert_works(acu_dlpack_export(x, number(), ACU_DLPACK_READ_ONLY, &m));
    assert_int_equal(m->flags, ACUI_DL_READ_ONLY);
    acu_dlpack_release(m);
    assert_fails(acu_dlpack_export(x, number(), 12, &m), ACU_ERR_INVALID, "flags 0xc");
    assert_fails(acu_dlpack_export(NULL, 1, 0, &m), ACU_ERR_INVALID, "acu_dlpack_export");
    acu_tensor_release(wide);
    acu_tensor_release(x);
}

static void what_is_no_stream_is_told(void **state)
{
    (void)state;
    acu_tensor *x = NULL, *host = NULL, *y = NULL;
    versioned *m = NULL, *none = NULL;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(4)), &x));
    assert_works(acu_sync(device, acu_to_host(x), &host));
    assert_fails(acu_dlpack_export(x, 0, 0, &none), ACU_ERR_INVALID,
                 "acu_dlpack_export: 0 is no stream for DLPack");
    assert_works(acu_dlpack_export(x, ACU_DLPACK_NO_STREAM, 0, &m));
    assert_fails(acu_dlpack_import(device, m, 0, &y), ACU_ERR_INVALID,
                 "acu_dlpack_import: 0 is no stream for DLPack");
    /* A GPU's driver may crash on a made-up handle: so it refuses a good one. */
    const acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_StreamGetPriority,
                                    .from_then_on = true,
                                    .result = ACU_CUDA_ERROR_INVALID_HANDLE};
    acu_stream *mine = NULL;
    assert_works(acu_stream_create(device, 0, &mine));
    intptr_t handle = (intptr_t)acu_stream_raw(mine);
    assert_works(acu_driver_fail(&fault));
    assert_fails(acu_dlpack_import(device, m, handle, &y), ACU_ERR_DRIVER,
                 "acu_dlpack_import: 0x|is no stream of device 0");
    assert_string_equal(acu_last_error()->driver_name, "CUDA_ERROR_INVALID_HANDLE");
    assert_fails(acu_dlpack_export(x, handle, 0, &none), ACU_ERR_DRIVER,
                 "acu_dlpack_export: 0x|is no stream of device 0");
    acu_driver_fail_clear();
    acu_dlpack_release(m);
    assert_works(acu_dlpack_export(host, 0, 0, &m)); /* host memory has none */
    acu_dlpack_release(m);
    acu_stream_release(mine);
    acu_tensor_release(host);
    acu_tensor_release(x);
}

/* Work on the other side's stream comes behind acuda's, for which nobody has waited; and acuda's
 * later work comes behind that. */
static void streams_put_both_sides_in_order(void **state)
{
    (void)state;
    acu_stream *mine = NULL;
    acu_tensor *x = NULL, *y = NULL, *copy = NULL;
    versioned *m = NULL;
    uint32_t out[64];
    assert_works(acu_stream_create(device, 0, &mine));
    assert_works(acu_sync(device, acu_zeros(ACU_U32, ACU_SHAPE(64)), &x));
    acu_submit_options options = {.size = sizeof options, .stream = mine};
    test_gate_close(device, acu_stream_raw(mine));
    assert_works(acu_submit(device, acu_fill(x, acu_u32(5)), &options, NULL));
    assert_works(acu_dlpack_export(x, number(), 0, &m)); /* does not wait for the gate */
    assert_works(acu_dlpack_import(device, m, number(), &y));
    acu_future *done = NULL;
    assert_works(acu_submit(device, acu_dup(y), NULL, &done));
    assert_int_equal(acu_future_wait(done, ACU_US(200)), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_future_wait(done, ACU_FOREVER));
    assert_works(acu_future_take(done, 0, &copy));
    assert_works(acu_read_sync(copy, out, sizeof out));
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], 5);
    acu_future_release(done);
    acu_tensor_release(copy);
    acu_tensor_release(y);
    acu_tensor_release(x);
    acu_stream_release(mine);
}

/* The other side calls the deleter while its work is still on its stream. */
static void what_is_let_go_is_reused_behind_the_other_side(void **state)
{
    (void)state;
    acu_tensor *x = NULL;
    versioned *m = NULL;
    uint32_t out[64];
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(64), acu_u32(1)), &x));
    assert_works(acu_dlpack_export(x, number(), ACU_DLPACK_STREAM_LIVES, &m));
    test_gate_close(device, acu_stream_raw(stream));
    acu_dlpack_release(m);
    acu_future *done = NULL;
    assert_works(acu_submit(device, acu_fill(x, acu_u32(2)), NULL, &done));
    assert_int_equal(acu_future_wait(done, ACU_US(200)), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_future_wait(done, ACU_FOREVER));
    assert_works(acu_read_sync(x, out, sizeof out));
    assert_int_equal(out[63], 2);
    acu_future_release(done);
    acu_tensor_release(x);
}

/* The other side, whose work is still on its stream, calls the deleter, which drops the last handle
 * of `x`: nobody else gets the memory before that work is done. */
static void let_go_of(acu_tensor *x, versioned *m, acu_future *before)
{
    CUdeviceptr address = acu_tensor_address(x);
    acu_future *done = NULL;
    acu_dlpack_release(m);
    test_host_gate_open();
    assert_works(acu_future_wait(before, ACU_FOREVER));
    acu_future_release(before);
    acu_tensor_release(x);
    assert_works(acu_submit(device, acu_full(ACU_SHAPE(64), acu_u32(3)), NULL, &done));
    assert_works(acu_future_wait(done, ACU_FOREVER));
    assert_int_not_equal(acu_tensor_address(acu_future_tensor(done, 0)), address);
    test_gate_open();
    acu_future_release(done);
}

static acu_op *pass_host_gate(void)
{
    return acu_op_host(test_pass_host_gate, ACU_USER(NULL), NULL, 0, ACU_SITE);
}

/* Other work on the tensor is held back on the host; it may also be given up. */
static void what_waits_on_the_host_does_not_undo_that(void **state)
{
    (void)state;
    for (int cancel = 0; cancel < 2; cancel++) {
        acu_tensor *x = NULL;
        versioned *m = NULL;
        acu_future *held = NULL, *behind = NULL;
        assert_works(acu_sync(device, acu_full(ACU_SHAPE(64), acu_u32(1)), &x));
        assert_works(acu_dlpack_export(x, number(), ACU_DLPACK_STREAM_LIVES, &m));
        test_host_gate_close();
        acu_op *fill = acu_after(acu_fill(x, acu_u32(2)), pass_host_gate());
        assert_works(acu_submit(device, fill, NULL, &held));
        assert_works(acu_submit(device, pass_host_gate(), NULL, &behind));
        test_gate_close(device, acu_stream_raw(stream));
        if (cancel)
            assert_works(acu_future_cancel(held));
        acu_future_release(held);
        let_go_of(x, m, behind);
    }
}

static void nor_does_a_runtime_thread_that_is_behind(void **state)
{
    (void)state;
    acu_tensor *x = NULL, *y = NULL;
    versioned *m = NULL, *again = NULL;
    acu_future *held = NULL;
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(64), acu_u32(1)), &x));
    assert_works(acu_dlpack_export(x, number(), ACU_DLPACK_STREAM_LIVES, &m));
    assert_works(acu_dlpack_export(x, number(), ACU_DLPACK_STREAM_LIVES, &again));
    test_gate_close(device, acu_stream_raw(stream));
    test_host_gate_close();
    acu_op *op = acu_then(acu_empty(ACU_U8, ACU_SHAPE(1)), test_plan_behind_host_gate, NULL);
    assert_works(acu_submit(device, op, NULL, &held));
    test_host_gate_await();
    assert_works(acu_dlpack_import(device, again, number(), &y)); /* not too early, either */
    acu_tensor_release(y);
    acu_dlpack_drain();
    let_go_of(x, m, held);
}

static void memory_that_is_not_there_yet_is_waited_for(void **state)
{
    (void)state;
    acu_future *made = NULL;
    versioned *m = NULL;
    assert_works(acu_submit(device, acu_zeros(ACU_U8, ACU_SHAPE(16)), NULL, &made));
    acu_tensor *x = acu_future_tensor(made, 0);
    assert_works(acu_dlpack_export_wait(x, ACU_DLPACK_NO_STREAM, 0, ACU_FOREVER, &m));
    assert_int_equal((uintptr_t)m->tensor.data, acu_tensor_address(x));
    acu_dlpack_release(m);
    acu_future_release(made);
}

static void host_memory_is_exported_when_it_is_done_with(void **state)
{
    (void)state;
    acu_tensor *host = NULL, *x = NULL;
    versioned *m = NULL;
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, ACU_SHAPE(8), &host));
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(8), acu_i32(7)), &x));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acu_submit(device, acu_copy(host, x), &options, NULL));
    assert_int_equal(acu_dlpack_export(host, 1, 0, &m), ACU_NOT_READY);
    assert_int_equal(acu_dlpack_export_wait(host, 1, 0, ACU_US(200), &m), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_dlpack_export_wait(host, 1, 0, ACU_FOREVER, &m));
    assert_int_equal(m->tensor.device.type, ACUI_DL_CPU);
    assert_ptr_equal(m->tensor.data, acu_tensor_host(host));
    for (int i = 0; i < 8; i++)
        assert_int_equal(((int32_t *)m->tensor.data)[i], 7);
    acu_dlpack_release(m);
    acu_future *future = NULL;
    test_host_gate_close();
    assert_works(acu_submit(device, acu_after(acu_copy(host, x), pass_host_gate()), NULL, &future));
    assert_works(acu_future_cancel(future));
    test_host_gate_open();
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CANCELLED);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_fails(acu_dlpack_export(host, 1, 0, &m), ACU_ERR_DEPENDENCY, "not computed");
    acu_future_release(future);
    acu_tensor_release(host);
    acu_tensor_release(x);
}

/* ---- import ---------------------------------------------------------------------------------- */

/* The other side. */
typedef struct other {
    versioned managed;
    int64_t shape[ACU_MAX_RANK + 1], strides[ACU_MAX_RANK + 1];
    int deleted;
    pthread_t thread; /* that called the deleter */
} other;

static void other_delete(versioned *self)
{
    other *o = self->context;
    o->deleted++;
    o->thread = pthread_self();
}

/* f32 [2, 3], dense, in host memory */
static other other_tensor(void *data)
{
    other o = {.shape = {2, 3}, .strides = {3, 1}};
    o.managed.version.major = 1;
    o.managed.deleter = other_delete;
    o.managed.tensor.data = data;
    o.managed.tensor.device.type = ACUI_DL_CPU;
    o.managed.tensor.rank = 2;
    o.managed.tensor.dtype.code = ACUI_DL_FLOAT;
    o.managed.tensor.dtype.bits = 32;
    o.managed.tensor.dtype.lanes = 1;
    return o;
}

/* Sets the pointers that point into the struct itself. */
static versioned *settle(other *o)
{
    o->managed.context = o;
    o->managed.tensor.shape = o->shape;
    o->managed.tensor.strides = o->strides;
    return &o->managed;
}

static void a_deleter_runs_where_the_program_says(void **state)
{
    (void)state;
    float data[6] = {1, 2, 3, 4, 5, 6}, out[6];
    other o = other_tensor(data);
    acu_tensor *t = NULL, *x = NULL;
    assert_works(acu_dlpack_import(device, settle(&o), ACU_DLPACK_NO_STREAM, &t));
    assert_true(acu_shape_equal(acu_tensor_shape(t), ACU_SHAPE(2, 3)));
    assert_int_equal(acu_tensor_dtype(t), ACU_F32);
    assert_ptr_equal(acu_tensor_host(t), data);
    acu_op *op = acu_to_device(device, t);
    acu_tensor_release(t); /* the op holds it, then the submission */
    acu_future *done = NULL;
    assert_works(acu_submit(device, op, NULL, &done));
    assert_works(acu_future_wait(done, ACU_FOREVER));
    assert_works(acu_future_take(done, 0, &x));
    acu_future_release(done);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(o.deleted, 0);
    assert_int_equal(acu_dlpack_drain(), 1);
    assert_int_equal(o.deleted, 1);
    assert_true(pthread_equal(o.thread, pthread_self()));
    assert_int_equal(acu_dlpack_drain(), 0);
    assert_works(acu_read_sync(x, out, sizeof out));
    assert_memory_equal(out, data, sizeof out);
    acu_tensor_release(x);
}

static void offsets_strides_and_single_numbers(void **state)
{
    (void)state;
    float data[12];
    for (int i = 0; i < 12; i++)
        data[i] = (float)i;
    other o = other_tensor(data);
    acu_tensor *t = NULL;
    o.managed.tensor.byte_offset = 8;
    o.strides[0] = 5;
    assert_works(acu_dlpack_import(device, settle(&o), ACU_DLPACK_NO_STREAM, &t));
    assert_ptr_equal(acu_tensor_host(t), data + 2);
    assert_int_equal(acu_tensor_strides(t)[0], 5);
    assert_int_equal(acu_buffer_bytes(acu_tensor_buffer(t)), 8 * 4);
    acu_tensor_release(t);
    settle(&o)->tensor.strides = NULL; /* dense */
    assert_works(acu_dlpack_import(device, &o.managed, ACU_DLPACK_NO_STREAM, &t));
    assert_int_equal(acu_tensor_strides(t)[0], 3);
    assert_true(acu_tensor_dense(t));
    acu_tensor_release(t);
    o.managed.tensor.rank = 0;
    assert_works(acu_dlpack_import(device, settle(&o), ACU_DLPACK_NO_STREAM, &t));
    assert_true(acu_shape_equal(acu_tensor_shape(t), ACU_RANK_0));
    acu_tensor_release(t);
    o.managed.tensor.rank = 2;
    o.shape[0] = 1;
    o.strides[0] = -3; /* which leads nowhere */
    assert_works(acu_dlpack_import(device, settle(&o), ACU_DLPACK_NO_STREAM, &t));
    assert_true(acu_shape_equal(acu_tensor_shape(t), ACU_SHAPE(1, 3)));
    acu_tensor_release(t);
    acu_dlpack_drain();
    assert_int_equal(o.deleted, 4);
}

/* The address of an empty tensor may be NULL, and the struct is over as soon as it is read. */
static void empty_tensors_go_both_ways(void **state)
{
    (void)state;
    const int types[] = {ACUI_DL_CPU, ACUI_DL_CUDA_HOST, (int)device_type()};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        other o = other_tensor(NULL);
        acu_tensor *t = NULL;
        versioned *out = NULL;
        o.shape[1] = 0;
        o.managed.tensor.device.type = types[i];
        o.managed.tensor.device.id = i == 2 ? acu_device_info_of(device)->ordinal : 0;
        assert_works(acu_dlpack_import(device, settle(&o), ACU_DLPACK_NO_STREAM, &t));
        assert_true(acu_shape_equal(acu_tensor_shape(t), ACU_SHAPE(2, 0)));
        assert_int_equal(acu_dlpack_drain(), 1);
        assert_int_equal(o.deleted, 1);
        assert_works(acu_sync(device, acu_to_device(device, t), NULL));
        assert_works(acu_dlpack_export_wait(t, ACU_DLPACK_NO_STREAM, 0, ACU_FOREVER, &out));
        acu_tensor_release(t);
        assert_int_equal(out->tensor.shape[1], 0);
        assert_non_null(out->tensor.data);
        acu_dlpack_release(out);
    }
}

/* Page-locked memory is an argument of kernels and copies, without staging. */
static void pinned_host_memory_is_wrapped_as_such(void **state)
{
    (void)state;
    float *data = aligned_alloc(4096, 4096), out[6];
    assert_non_null(data);
    for (int i = 0; i < 6; i++)
        data[i] = (float)i;
    other o = other_tensor(data);
    o.managed.tensor.device.type = ACUI_DL_CUDA_HOST;
    acu_tensor *t = NULL, *x = NULL;
    assert_works(acu_dlpack_import(device, settle(&o), ACU_DLPACK_NO_STREAM, &t));
    assert_int_equal(acu_buffer_kind(acu_tensor_buffer(t)), ACU_MEMORY_HOST);
    assert_works(acu_sync(device, acu_to_device(device, t), &x));
    assert_works(acu_read_sync(x, out, sizeof out));
    assert_memory_equal(out, data, sizeof out);
    acu_tensor_release(x);
    acu_tensor_release(t);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    acu_dlpack_drain();
    assert_int_equal(o.deleted, 1);
    free(data);
}

/* The other side's stream is yet to write the memory, as in a copy to the host. */
static void host_memory_is_read_behind_the_other_sides_stream(void **state)
{
    (void)state;
    const int32_t types[] = {ACUI_DL_CPU, ACUI_DL_CUDA_HOST};
    for (int i = 0; i < 2; i++) {
        float *data = aligned_alloc(4096, 4096), out[6];
        assert_non_null(data);
        memset(data, 0, 4096);
        other o = other_tensor(data);
        o.managed.tensor.device.type = types[i];
        acu_tensor *t = NULL, *x = NULL;
        acu_future *done = NULL;
        test_gate_close(device, acu_stream_raw(stream));
        assert_works(acu_dlpack_import(device, settle(&o), number(), &t));
        assert_works(acu_submit(device, acu_to_device(device, t), NULL, &done));
        assert_int_equal(acu_future_wait(done, ACU_US(200)), ACU_TIMEOUT);
        data[5] = 7;
        test_gate_open();
        assert_works(acu_future_wait(done, ACU_FOREVER));
        assert_works(acu_future_take(done, 0, &x));
        assert_works(acu_read_sync(x, out, sizeof out));
        assert_true(out[5] == 7);
        acu_future_release(done);
        acu_tensor_release(x);
        acu_tensor_release(t);
        assert_works(acu_device_wait(device, ACU_FOREVER));
        acu_dlpack_drain();
        assert_int_equal(o.deleted, 1);
        free(data);
    }
}

static void what_is_lent_for_reading_is_not_written(void **state)
{
    (void)state;
    float data[6] = {0};
    other o = other_tensor(data);
    acu_tensor *t = NULL, *view = NULL;
    o.managed.flags = ACUI_DL_READ_ONLY | ACUI_DL_IS_COPIED;
    assert_works(acu_dlpack_import(device, settle(&o), ACU_DLPACK_NO_STREAM, &t));
    assert_false(acu_tensor_writable(t));
    assert_works(acu_tensor_flatten(t, &view));
    assert_fails(acu_sync(device, acu_copy(view, acu_zeros(ACU_F32, ACU_SHAPE(6))), NULL),
                 ACU_ERR_SHARED, "f32 [6] is in memory that was lent for reading only");
    acu_tensor_release(view);
    acu_tensor_release(t);
    acu_dlpack_drain();
}

static void every_element_type_goes_both_ways(void **state)
{
    (void)state;
    for (int d = ACU_NO_DTYPE + 1; d < ACU_DTYPE_COUNT; d++) {
        acu_tensor *x = NULL, *y = NULL;
        versioned *m = NULL;
        assert_works(acu_sync(device, acu_empty((acu_dtype)d, ACU_SHAPE(4)), &x));
        assert_works(acu_dlpack_export_wait(x, number(), 0, ACU_FOREVER, &m));
        assert_int_equal(m->tensor.dtype.bits * m->tensor.dtype.lanes,
                         8 * acu_dtype_bytes((acu_dtype)d));
        assert_works(acu_dlpack_import(device, m, number(), &y));
        assert_int_equal(acu_tensor_dtype(y), d == ACU_TF32 ? ACU_F32 : d);
        assert_int_equal(acu_tensor_address(y), acu_tensor_address(x));
        acu_tensor_release(y);
        acu_tensor_release(x);
    }
}

static void the_older_struct_goes_both_ways(void **state)
{
    (void)state;
    float data[6] = {1, 2, 3, 4, 5, 6};
    other o = other_tensor(data);
    struct DLManagedTensor *old = NULL;
    versioned *m = NULL;
    acu_tensor *t = NULL;
    assert_works(acu_dlpack_to_old(settle(&o), &old));
    assert_ptr_equal(old->tensor.data, data);
    assert_int_equal(old->tensor.shape[1], 3);
    assert_works(acu_dlpack_from_old(old, &m));
    assert_int_equal(m->version.major, 1);
    assert_works(acu_dlpack_import(device, m, ACU_DLPACK_NO_STREAM, &t));
    assert_ptr_equal(acu_tensor_host(t), data);
    acu_tensor_release(t);
    assert_int_equal(o.deleted, 0);
    acu_dlpack_drain();
    assert_int_equal(o.deleted, 1);
    assert_works(acu_dlpack_to_old(settle(&o), &old));
    acu_dlpack_release_old(old);
    assert_int_equal(o.deleted, 2);
    assert_fails(acu_dlpack_to_old(NULL, &old), ACU_ERR_INVALID, "the tensor is NULL");
    assert_fails(acu_dlpack_from_old(old, NULL), ACU_ERR_INVALID, "place for the result is NULL");
    acu_dlpack_release(NULL);
    acu_dlpack_release_old(NULL);
}

/* Nor does it become another tensor on the way. */
static void what_the_older_struct_can_not_say_is_refused(void **state)
{
    (void)state;
    float data[6] = {0};
    other o = other_tensor(data);
    struct DLManagedTensor *old = NULL;
    versioned *m = settle(&o);
    m->version.major = 2;
    assert_fails(acu_dlpack_to_old(m, &old), ACU_ERR_NOT_SUPPORTED, "version 2.0|knows 1");
    m->version.major = 1;
    m->flags = ACUI_DL_PADDED;
    m->tensor.dtype.bits = 4;
    assert_fails(acu_dlpack_to_old(m, &old), ACU_ERR_DTYPE, "4 bits, padded");
    assert_int_equal(o.deleted, 0);
    m->tensor.dtype.bits = 32; /* where the flag means nothing */
    assert_works(acu_dlpack_to_old(m, &old));
    acu_dlpack_release_old(old);
    assert_int_equal(o.deleted, 1);
}

/* The tensor is refused, and still belongs to the other side. */
static void refused(other *o, acu_status status, const char *words)
{
    acu_tensor *t = NULL;
    versioned *m = settle(o);
    assert_fails(acu_dlpack_import(device, m, number(), &t), status, words);
    assert_null(t);
    acu_dlpack_drain();
    assert_int_equal(o->deleted, 0);
    assert_int_equal(acu_debug_live(ACU_OBJECT_BUFFER), 0);
}

static void wrong_tensors_are_refused_in_words(void **state)
{
    (void)state;
    float data[16] = {0};
    const other good = other_tensor(data);
    other o = good;
    o.managed.version.major = 2;
    refused(&o, ACU_ERR_NOT_SUPPORTED, "version 2.0|knows 1");
    o = good;
    o.managed.tensor.dtype.lanes = 4;
    refused(&o, ACU_ERR_DTYPE, "type 2 of 32 bits in 4 lanes");
    o = good;
    o.managed.tensor.dtype.code = 5;
    refused(&o, ACU_ERR_DTYPE, "type 5");
    o = good;
    o.managed.tensor.rank = 7;
    refused(&o, ACU_ERR_SHAPE, "7 dimensions|at most 6");
    o = good;
    o.shape[1] = -1;
    refused(&o, ACU_ERR_SHAPE, "[2, -1]|dimension 1");
    o = good;
    o.shape[1] = 0;
    o.managed.tensor.device.type = 10; /* of an empty tensor too */
    refused(&o, ACU_ERR_NOT_SUPPORTED, "device type 10");
    o.managed.tensor.device.type = device_type();
    o.managed.tensor.device.id = 63;
    refused(&o, ACU_ERR_DEVICE, "number 63");
    o = good;
    o.managed.flags = ACUI_DL_PADDED;
    o.managed.tensor.dtype.code = ACUI_DL_F4E2M1FN;
    o.managed.tensor.dtype.bits = 4;
    o.managed.tensor.dtype.lanes = 2;
    refused(&o, ACU_ERR_DTYPE, "4 bits in 2 lanes, padded");
    o = good;
    o.strides[0] = -3;
    refused(&o, ACU_ERR_SHAPE, "dimension 0|stride of -3");
    o = good;
    o.shape[0] = 3;
    o.strides[0] = INT64_MAX / 2;
    refused(&o, ACU_ERR_SHAPE, "further than 64 bits");
    o = good;
    o.managed.tensor.byte_offset = 2;
    refused(&o, ACU_ERR_INVALID, "4 bytes are aligned");
    o = good;
    o.managed.tensor.device.type = 10;
    refused(&o, ACU_ERR_NOT_SUPPORTED, "device type 10");
    o = good;
    o.managed.tensor.device.type = device_type();
    o.managed.tensor.device.id = 63;
    refused(&o, ACU_ERR_DEVICE, "number 63");
    acu_tensor *t = NULL;
    assert_fails(acu_dlpack_import(device, NULL, 1, &t), ACU_ERR_INVALID,
                 "the DLPack tensor is NULL");
    o = good;
    assert_fails(acu_dlpack_import(device, settle(&o), 1, NULL), ACU_ERR_INVALID,
                 "place for the tensor");
}

/* Lets the op fail with the words of the refusal. */
static acu_status import_here(void *user, CUstream raw, const acu_val *values, size_t count)
{
    (void)raw, (void)values, (void)count;
    acu_tensor *t;
    return acu_dlpack_import(device, user, number(), &t);
}

static void a_foreign_call_imports_nothing(void **state)
{
    (void)state;
    float data[16] = {0};
    other o = other_tensor(data);
    acu_arg none = acu_arg_scalar(ACU_I32, 0);
    acu_op *op = acu_op_foreign(import_here, ACU_USER(settle(&o)), &none, 1, ACU_SITE);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_CALLBACK, "acu_dlpack_import is called in a");
    assert_int_equal(o.deleted, 0);
}

/* The same for exports, of memory of the device and of the host. */
static acu_status export_here(void *user, CUstream raw, const acu_val *values, size_t count)
{
    (void)raw, (void)values, (void)count;
    versioned *m;
    return acu_dlpack_export(user, number(), 0, &m);
}

static acu_status export_here_wait(void *user, CUstream raw, const acu_val *values, size_t count)
{
    (void)raw, (void)values, (void)count;
    versioned *m;
    return acu_dlpack_export_wait(user, number(), 0, ACU_FOREVER, &m);
}

static void a_foreign_call_exports_nothing(void **state)
{
    (void)state;
    acu_tensor *x, *host;
    acu_arg none = acu_arg_scalar(ACU_I32, 0);
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(4)), &x));
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(4), &host));
    acu_op *op = acu_op_foreign(export_here, ACU_USER(x), &none, 1, ACU_SITE);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_CALLBACK, "acu_dlpack_export is called in a");
    op = acu_op_foreign(export_here_wait, ACU_USER(host), &none, 1, ACU_SITE);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_CALLBACK, "acu_dlpack_export_wait waits");
    acu_tensor_release(x);
    acu_tensor_release(host);
}

/* Each allocation fails in turn; an import that fails leaves the tensor with the other side. */
static void lack_of_memory_is_survived(void **state)
{
    (void)state;
    float data[6] = {0};
    for (unsigned n = 1; n < 40; n++) {
        other o = other_tensor(data);
        acu_tensor *t = NULL;
        versioned *m = NULL;
        acu_debug_fail_alloc(n, false);
        acu_status status = acu_dlpack_import(device, settle(&o), ACU_DLPACK_NO_STREAM, &t);
        acu_status again = status == ACU_OK ? acu_dlpack_export(t, ACU_DLPACK_NO_STREAM, 0, &m)
                                            : status;
        acu_debug_fail_alloc(0, false);
        assert_true(again == ACU_OK || again == ACU_ERR_NO_MEMORY);
        if (again == ACU_OK)
            acu_dlpack_release(m);
        if (status == ACU_OK)
            acu_tensor_release(t);
        acu_dlpack_drain();
        assert_int_equal(o.deleted, status == ACU_OK);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_export_says_what_the_tensor_is),
        TEST(what_must_not_be_written_is_exported_so),
        TEST(what_is_no_stream_is_told),
        TEST(streams_put_both_sides_in_order),
        TEST(what_is_let_go_is_reused_behind_the_other_side),
        TEST(what_waits_on_the_host_does_not_undo_that),
        cmocka_unit_test_setup_teardown(nor_does_a_runtime_thread_that_is_behind, setup_runtime,
                                        teardown),
        TEST(memory_that_is_not_there_yet_is_waited_for),
        TEST(host_memory_is_exported_when_it_is_done_with),
        TEST(a_deleter_runs_where_the_program_says),
        TEST(offsets_strides_and_single_numbers),
        TEST(empty_tensors_go_both_ways),
        TEST(pinned_host_memory_is_wrapped_as_such),
        TEST(host_memory_is_read_behind_the_other_sides_stream),
        TEST(what_is_lent_for_reading_is_not_written),
        TEST(every_element_type_goes_both_ways),
        TEST(the_older_struct_goes_both_ways),
        TEST(what_the_older_struct_can_not_say_is_refused),
        TEST(wrong_tensors_are_refused_in_words),
        TEST(a_foreign_call_imports_nothing),
        TEST(a_foreign_call_exports_nothing),
        TEST(lack_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
