/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Data in and out: tensors of every dtype made and filled, copies in every direction, reading and
 * writing from bare pointers, and host memory of the program, which is released once, after its
 * last use.
 */
#include "support/support.h"

#include <stdatomic.h>

enum { N = 77 };

static void done(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

static acu_tensor *result(acu_device *device, acu_op *op)
{
    acu_tensor *tensor = NULL;
    assert_works(acu_sync(device, op, &tensor));
    return tensor;
}

static acu_tensor *tensor_of(acu_device *device, acu_op *op)
{
    acu_tensor *tensor = NULL;
    acu_future *future = NULL;
    assert_works(acu_submit(device, op, NULL, &future));
    assert_works(acu_future_take(future, 0, &tensor)); /* before it is complete */
    acu_future_release(future);
    return tensor;
}

/* ---- making and filling ---- */

/* Every element has these bits. Takes the tensor. */
static void two_words(acu_tensor *tensor, uint64_t bits, uint64_t imaginary)
{
    size_t size = acu_dtype_bytes(acu_tensor_dtype(tensor));
    unsigned char bytes[N * 16], want[16];
    memcpy(want, &bits, sizeof bits);
    memcpy(want + 8, &imaginary, sizeof imaginary);
    assert_int_equal(acu_tensor_bytes(tensor), N * size);
    assert_works(acu_read_sync(tensor, bytes, N * size));
    for (size_t i = 0; i < N; i++)
        assert_memory_equal(bytes + i * size, want, size);
    acu_tensor_release(tensor);
}

static void all_bits(acu_tensor *tensor, uint64_t bits)
{
    two_words(tensor, bits, 0);
}

static uint64_t one_of(acu_dtype dtype)
{
    switch (dtype) {
    case ACU_F16:
        return 0x3C00;
    case ACU_BF16:
        return 0x3F80;
    case ACU_F32:
    case ACU_TF32:
    case ACU_C64:
        return 0x3F800000;
    case ACU_F64:
    case ACU_C128:
        return 0x3FF0000000000000;
    case ACU_F8E4M3FN:
        return 7 << 3;
    case ACU_F8E5M2:
        return 15 << 2;
    case ACU_F8E8M0FNU:
        return 127;
    case ACU_F4E2M1FNX2: /* two of them */
        return 1 << 1 | 1 << 5;
    default:
        return 1;
    }
}

static void every_dtype_is_filled(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_shape shape = ACU_SHAPE(N);
    const uint64_t patterns[] = {0, 0x0102030405060708, 0xFFFFFFFFFFFFFFFF, 0x8000000000000001,
                                 0x00000000FFFFFFFF, 0xABABABABABABABAB};
    for (int d = ACU_NO_DTYPE + 1; d < ACU_DTYPE_COUNT; d++) {
        acu_dtype dtype = (acu_dtype)d;
        size_t size = acu_dtype_bytes(dtype);
        if (dtype == ACU_F8E8M0FNU)
            assert_fails(acu_sync(device, acu_zeros(dtype, shape), NULL), ACU_ERR_DTYPE,
                         "f8e8m0fnu has no zero");
        else
            all_bits(result(device, acu_zeros(dtype, shape)), 0);
        all_bits(result(device, acu_ones(dtype, shape)), one_of(dtype));
        for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
            uint64_t bits = size >= 8 ? patterns[p] : patterns[p] & ((1ull << 8 * size) - 1);
            uint64_t words[2] = {bits, size == 16 ? patterns[(p + 1) % 6] : 0};
            acu_arg scalar = size == 16 ? acu_c128(words) : acu_arg_scalar(dtype, bits);
            two_words(result(device, acu_full(shape, scalar)), bits, words[1]);
            two_words(result(device, acu_fill(acu_empty(dtype, shape), scalar)), bits, words[1]);
            acu_tensor *x = result(device, acu_empty(dtype, shape));
            assert_works(acu_sync(device, acu_fill(x, scalar), NULL));
            two_words(x, bits, words[1]);
        }
    }
    done(device);
}

static void shapes_of_every_rank(void **state)
{
    (void)state;
    acu_device *device = test_open();
    const acu_shape shapes[] = {ACU_SHAPE(N), ACU_SHAPE(7, 11), ACU_SHAPE(7, 1, 11),
                                ACU_SHAPE(1, 11, 7, 1), ACU_SHAPE(1, 11, 1, 7, 1),
                                ACU_SHAPE(1, 1, 11, 1, 7, 1)};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        acu_tensor *x = result(device, acu_full(shapes[i], acu_u16(0x1234)));
        assert_true(acu_shape_equal(acu_tensor_shape(x), shapes[i]));
        assert_true(acu_tensor_dense(x));
        all_bits(x, 0x1234);
    }
    done(device);
}

static void constants_are_copied_when_made(void **state)
{
    (void)state;
    acu_device *device = test_open();
    uint32_t memory[N];
    for (uint32_t i = 0; i < N; i++)
        memory[i] = i * 0x01010101u;
    acu_op *op = acu_const(ACU_U32, ACU_SHAPE(N), memory);
    memset(memory, 0xEE, sizeof memory);
    acu_tensor *x = result(device, op);
    assert_works(acu_read_sync(x, memory, sizeof memory));
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(memory[i], i * 0x01010101u);
    acu_tensor_release(x);

    static uint8_t most[ACU_CONST_MAX], back[ACU_CONST_MAX];
    for (size_t i = 0; i < sizeof most; i++)
        most[i] = (uint8_t)(i * 31 >> 3);
    x = result(device, acu_const(ACU_U8, ACU_SHAPE(ACU_CONST_MAX), most));
    assert_works(acu_read_sync(x, back, sizeof back));
    assert_memory_equal(most, back, sizeof back);
    acu_tensor_release(x);
    done(device);
}

/* ---- copies ---- */

static void number(acu_tensor *host, int32_t first)
{
    int32_t *x = acu_tensor_host(host);
    for (int32_t i = 0; i < N; i++)
        x[i] = first + i;
}

static void is_numbered(const int32_t *x, int32_t first)
{
    for (int32_t i = 0; i < N; i++)
        assert_int_equal(x[i], first + i);
}

static void host_to_device_and_back(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_shape shape = ACU_SHAPE(N);
    acu_tensor *up, *down;
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, shape, &up));
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, shape, &down));
    number(up, 5);
    acu_tensor *a = tensor_of(device, acu_empty(ACU_I32, shape));
    acu_tensor *b = tensor_of(device, acu_empty(ACU_I32, shape));
    assert_works(acu_submit(device, acu_copy(a, up), NULL, NULL));
    assert_works(acu_submit(device, acu_copy(b, a), NULL, NULL));
    acu_future *future;
    assert_works(acu_submit(device, acu_copy(down, b), NULL, &future));
    assert_int_equal(acu_future_values(future), 2); /* destination, source */
    assert_ptr_equal(acu_future_tensor(future, 0), down);
    assert_ptr_equal(acu_future_tensor(future, 1), b);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    is_numbered(acu_tensor_host(down), 5);
    acu_future_release(future);
    acu_tensor_release(up);
    acu_tensor_release(down);
    acu_tensor_release(a);
    acu_tensor_release(b);
    done(device);
}

static void new_tensors_with_the_same_contents(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *up;
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, ACU_SHAPE(7, 11), &up));
    number(up, -30);
    acu_tensor *x = tensor_of(device, acu_to_device(device, up));
    assert_ptr_equal(acu_tensor_device(x), device);
    assert_null(acu_tensor_host(x));
    acu_tensor *twin = tensor_of(device, acu_dup(x));
    assert_true(acu_shape_equal(acu_tensor_shape(twin), ACU_SHAPE(7, 11)));
    assert_works(acu_submit(device, acu_fill(x, acu_i32(0)), NULL, NULL)); /* behind the dup */
    acu_tensor *down = result(device, acu_to_host(acu_give(twin))); /* reclaimed */
    assert_int_equal(acu_buffer_kind(acu_tensor_buffer(down)), ACU_MEMORY_PINNED);
    is_numbered(acu_tensor_host(down), -30);
    acu_tensor *again = result(device, acu_dup(down)); /* of host memory: a tensor on its device */
    int32_t memory[N];
    assert_works(acu_read_sync(again, memory, sizeof memory));
    is_numbered(memory, -30);
    acu_tensor_release(again);
    acu_tensor_release(down);
    acu_tensor_release(x);
    acu_tensor_release(up);
    done(device);
}

static void between_devices(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_tensor *up;
    assert_works(acu_tensor_alloc_pinned(devices[0], ACU_I32, ACU_SHAPE(N), &up));
    number(up, 1000);
    for (int peer = 0; peer < 2; peer++) {
        if (peer && acu_device_open_peer(devices[0], devices[1]) != ACU_OK)
            break; /* not between these two: copies work all the same */
        acu_tensor *near = tensor_of(devices[0], acu_to_device(devices[0], up));
        acu_tensor *far = tensor_of(devices[0], acu_to_device(devices[1], near));
        assert_ptr_equal(acu_tensor_device(far), devices[1]);
        assert_works(acu_submit(NULL, acu_fill(near, acu_i32(0)), NULL, NULL));
        assert_works(acu_submit(NULL, acu_copy(near, far), NULL, NULL)); /* and back */
        int32_t memory[N];
        assert_works(acu_read_sync(near, memory, sizeof memory));
        is_numbered(memory, 1000);
        acu_tensor *down = result(NULL, acu_to_host(acu_give(far)));
        is_numbered(acu_tensor_host(down), 1000);
        /* Pinned memory that one device's handle made, copied to the other. */
        acu_tensor *other = tensor_of(devices[1], acu_to_device(devices[1], down));
        assert_works(acu_read_sync(other, memory, sizeof memory));
        is_numbered(memory, 1000);
        acu_tensor_release(other);
        acu_tensor_release(down);
        acu_tensor_release(near);
    }
    acu_tensor_release(up);
    test_close(devices[1]);
    done(devices[0]);
}

static void bare_pointers(void **state)
{
    (void)state;
    acu_device *device = test_open();
    int32_t in[N], out[N];
    for (int32_t i = 0; i < N; i++)
        in[i] = 7 + i;
    acu_tensor *x = tensor_of(device, acu_empty(ACU_I32, ACU_SHAPE(N))), *pinned;
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, ACU_SHAPE(N), &pinned));
    acu_tensor *both[] = {x, pinned};
    for (int i = 0; i < 2; i++) {
        assert_works(acu_write_sync(both[i], in, sizeof in));
        memset(out, 0, sizeof out);
        assert_works(acu_read_sync(both[i], out, sizeof out));
        is_numbered(out, 7);
    }
    /* Ordered behind what was submitted before. */
    assert_works(acu_submit(device, acu_fill(x, acu_i32(3)), NULL, NULL));
    assert_works(acu_submit(device, acu_copy(pinned, x), NULL, NULL));
    assert_works(acu_read_sync(pinned, out, sizeof out));
    assert_int_equal(out[N - 1], 3);
    acu_tensor_release(x);
    acu_tensor_release(pinned);
    done(device);
}

/* ---- slices ---- */

static void slices_of_one_buffer(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x = tensor_of(device, acu_zeros(ACU_I32, ACU_SHAPE(6, 10)));
    acu_tensor *rows[6];
    for (int64_t r = 0; r < 6; r++) {
        assert_works(acu_tensor_slice(x, (int64_t[]){r, 0}, (int64_t[]){r + 1, 10}, &rows[r]));
        assert_true(acu_tensor_dense(rows[r]));
        if (r % 2 == 0)
            assert_works(acu_submit(device, acu_fill(rows[r], acu_i32((int32_t)r)), NULL, NULL));
    }
    assert_works(acu_submit(device, acu_copy(rows[5], rows[4]), NULL, NULL)); /* in one buffer */
    acu_tensor *twin = tensor_of(device, acu_dup(rows[2]));
    int32_t all[60], row[10];
    assert_works(acu_read_sync(x, all, sizeof all));
    for (int i = 0; i < 60; i++)
        assert_int_equal(all[i], i / 10 == 5 ? 4 : i / 10 % 2 ? 0 : i / 10);
    assert_works(acu_read_sync(twin, row, sizeof row));
    assert_int_equal(row[9], 2);
    acu_tensor_release(x); /* the slices keep the storage */
    assert_works(acu_write_sync(rows[1], all, sizeof row));
    assert_works(acu_read_sync(rows[1], row, sizeof row));
    assert_int_equal(row[0], 0);
    acu_tensor_release(twin);
    for (int r = 0; r < 6; r++)
        acu_tensor_release(rows[r]);
    done(device);
}

/* ---- host memory of the program's ---- */

static _Atomic(int) releases;

static void count_release(void *data)
{
    assert_ptr_equal(data, &releases);
    atomic_fetch_add(&releases, 1);
}

static acu_tensor *wrapped(acu_device *device, int32_t *memory)
{
    acu_buffer *buffer;
    acu_tensor *tensor;
    assert_works(acu_buffer_wrap_host(device, memory, N * sizeof *memory,
                                      ACU_USER(&releases, count_release), &buffer));
    assert_works(acu_tensor_create(buffer, 0, ACU_I32, ACU_SHAPE(N), &tensor));
    acu_buffer_release(buffer);
    return tensor;
}

static void wrapped_memory_is_released_after_its_last_use(void **state)
{
    (void)state;
    acu_device *device = test_open();
    static int32_t memory[N], back[N];
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    atomic_store(&releases, 0);
    for (int32_t i = 0; i < N; i++)
        memory[i] = 50 + i;
    acu_tensor *from = wrapped(device, memory), *to = wrapped(device, back);
    acu_tensor *x = tensor_of(device, acu_empty(ACU_I32, ACU_SHAPE(N)));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *future;
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acu_submit(device, acu_copy(x, from), &options, NULL));
    assert_works(acu_submit(device, acu_first(acu_copy(to, x)), &options, &future));
    acu_tensor_release(from); /* in use: the copy has not begun */
    acu_tensor_release(to);
    assert_int_equal(atomic_load(&releases), 0);
    test_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    is_numbered(back, 50);
    acu_future_release(future);
    acu_tensor_release(x);
    acu_stream_release(stream);
    done(device);
    assert_int_equal(atomic_load(&releases), 2);

    device = test_open(); /* never used, and in an op that is never submitted */
    from = wrapped(device, memory);
    acu_op *op = acu_dup(from);
    acu_tensor_release(from);
    assert_int_equal(atomic_load(&releases), 2);
    acu_op_release(op);
    assert_int_equal(atomic_load(&releases), 3);
    done(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_is_filled),
        cmocka_unit_test(shapes_of_every_rank),
        cmocka_unit_test(constants_are_copied_when_made),
        cmocka_unit_test(host_to_device_and_back),
        cmocka_unit_test(new_tensors_with_the_same_contents),
        cmocka_unit_test(between_devices),
        cmocka_unit_test(bare_pointers),
        cmocka_unit_test(slices_of_one_buffer),
        cmocka_unit_test(wrapped_memory_is_released_after_its_last_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
