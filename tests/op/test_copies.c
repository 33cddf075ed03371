/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies between tensors of any layout in all kinds of memory, compared with the same copies on the
 * host: random ones, and special cases (transposes, many at once, overlap, more than 4 GiB).
 */
#include "support/support.h"

#include <stdio.h>

enum { ROOM = 96 << 10 };

typedef enum place { DEVICE, OTHER, PINNED, WRAPPED, PAGEABLE, PLACES } place;

/* A buffer of ROOM bytes, and its expected contents. */
typedef struct side {
    acu_buffer *buffer;
    acu_tensor *whole;
    unsigned char *memory; /* of wrapped ones */
    unsigned char want[ROOM];
} side;

static acu_device *devices[2];
static int device_count;

static void done(void)
{
    for (int i = device_count; i-- > 0;)
        test_close(devices[i]);
    test_leaks_none();
}

static void begin(int count)
{
    test_open_n(devices, count);
    device_count = count;
}

/* ---- sides ---- */

static void make_buffer(side *s, place where)
{
    acu_device *device = devices[where == OTHER];
    acu_user none = ACU_USER(NULL);
    if (where == WRAPPED || where == PAGEABLE)
        s->memory = malloc(ROOM);
    if (where == DEVICE || where == OTHER)
        assert_works(acu_buffer_create(device, ROOM, &s->buffer));
    else if (where == PINNED)
        assert_works(acu_buffer_create_pinned(device, ROOM, &s->buffer));
    else if (where == WRAPPED)
        assert_works(acu_buffer_wrap_host(device, s->memory, ROOM, none, &s->buffer));
    else
        assert_works(acu_buffer_wrap_pageable(device, s->memory, ROOM, none, &s->buffer));
}

static side *side_new(place where, test_random *random)
{
    side *s = calloc(1, sizeof *s);
    make_buffer(s, where);
    for (size_t i = 0; i < ROOM; i += 8) {
        uint64_t bits = test_next(random);
        memcpy(s->want + i, &bits, 8);
    }
    assert_works(acu_tensor_create(s->buffer, 0, ACU_U8, ACU_SHAPE(ROOM), &s->whole));
    assert_works(acu_write_sync(s->whole, s->want, ROOM));
    return s;
}

static void side_check(const side *s, const char *words)
{
    static unsigned char got[ROOM];
    assert_works(acu_read_sync(s->whole, got, ROOM));
    for (size_t i = 0; i < ROOM; i++)
        if (got[i] != s->want[i])
            fail_msg("%s: byte %zu is %u, not %u", words, i, got[i], s->want[i]);
}

static void side_free(side *s)
{
    acu_tensor_release(s->whole);
    acu_buffer_release(s->buffer);
    assert_works(acu_device_wait(devices[0], ACU_FOREVER));
    free(s->memory);
    free(s);
}

/* ---- views ---- */

typedef struct view {
    size_t offset;
    int64_t strides[ACU_MAX_RANK];
    acu_tensor *tensor;
} view;

/* A view with its dimensions in any order, with steps and gaps, or dense. False: it does not
 * fit. */
static bool draw_view(test_random *random, acu_shape shape, size_t size, view *v)
{
    int order[ACU_MAX_RANK];
    bool dense = test_below(random, 3) == 0;
    int64_t reach = dense ? 1 : 1 + (int64_t)(test_below(random, 3) / 2);
    for (int d = 0; d < shape.rank; d++)
        order[d] = shape.rank - 1 - d;
    for (int d = 0; d < shape.rank && test_below(random, 2); d++) {
        int other = (int)test_below(random, (uint64_t)shape.rank), was = order[d];
        if (dense)
            break;
        order[d] = order[other];
        order[other] = was;
    }
    for (int d = 0; d < shape.rank; d++) {
        v->strides[order[d]] = reach;
        reach *= shape.dim[order[d]];
        if (!dense && test_below(random, 2))
            reach += (int64_t)test_below(random, 17);
    }
    int64_t span = 1;
    for (int d = 0; d < shape.rank; d++)
        span += (shape.dim[d] - 1) * v->strides[d];
    if ((uint64_t)span * size > ROOM)
        return false;
    uint64_t slack = ROOM / size - (uint64_t)span + 1;
    v->offset = test_below(random, 3) ? size * test_below(random, slack) : 0;
    return true;
}

static acu_shape draw_shape(test_random *random)
{
    acu_shape shape = {.rank = 1 + (int)test_below(random, ACU_MAX_RANK)};
    uint64_t most = test_below(random, 2) ? 5 : 60;
    int64_t left = 4000;
    for (int d = 0; d < shape.rank; d++) {
        int64_t n = 1 + (int64_t)test_below(random, most);
        shape.dim[d] = n < left ? n : left;
        left /= shape.dim[d];
    }
    return shape;
}

/* The copy on the host, element by element. */
static void copy_wanted(side *dst, const view *to, const side *src, const view *from,
                        acu_shape shape, size_t size)
{
    int64_t at[ACU_MAX_RANK] = {0};
    for (int64_t left = acu_shape_elements(shape); left > 0; left--) {
        int64_t d_at = 0, s_at = 0;
        for (int d = 0; d < shape.rank; d++) {
            d_at += at[d] * to->strides[d];
            s_at += at[d] * from->strides[d];
        }
        memcpy(dst->want + to->offset + (size_t)d_at * size,
               src->want + from->offset + (size_t)s_at * size, size);
        for (int d = shape.rank - 1; d >= 0 && ++at[d] == shape.dim[d]; d--)
            at[d] = 0;
    }
}

static void copy_once(test_random *random, side *dst, side *src, const char *words)
{
    static const acu_dtype dtypes[] = {ACU_U8, ACU_F16, ACU_F32, ACU_F64};
    acu_dtype dtype = dtypes[test_below(random, 4)];
    size_t size = acu_dtype_bytes(dtype);
    acu_shape shape = draw_shape(random);
    view to, from;
    if (!draw_view(random, shape, size, &to) || !draw_view(random, shape, size, &from))
        return;
    assert_works(acu_tensor_create_strided(dst->buffer, to.offset, dtype, shape, to.strides,
                                           &to.tensor));
    assert_works(acu_tensor_create_strided(src->buffer, from.offset, dtype, shape, from.strides,
                                           &from.tensor));
    assert_works(acu_submit(devices[0], acu_copy(to.tensor, from.tensor), NULL, NULL));
    copy_wanted(dst, &to, src, &from, shape, size);
    acu_tensor_release(to.tensor);
    acu_tensor_release(from.tensor);
    if (test_below(random, 4) == 0)
        side_check(dst, words);
}

static void between(place other, uint64_t seed, int turns)
{
    static const char *const names[] = {"device", "other device", "pinned", "wrapped", "pageable"};
    for (int to = 0; to < PLACES; to++)
        for (int from = 0; from < PLACES; from++) {
            char words[80];
            if ((other == OTHER) != (to == OTHER || from == OTHER))
                continue;
            test_random random = {.state = seed + (uint64_t)(10 * to + from)};
            side *dst = side_new((place)to, &random), *src = side_new((place)from, &random);
            snprintf(words, sizeof words, "to %s from %s", names[to], names[from]);
            for (int i = 0; i < turns; i++)
                copy_once(&random, dst, src, words);
            side_check(dst, words);
            side_check(src, words);
            side_free(dst);
            side_free(src);
        }
}

static void random_layouts(void **state)
{
    (void)state;
    begin(1);
    const char *seed = getenv("ACUDA_RANDOM_SEED"), *turns = getenv("ACUDA_RANDOM_SEEDS");
    between(DEVICE, seed ? strtoull(seed, NULL, 10) : 1, turns ? atoi(turns) : 25);
    done();
}

static void random_layouts_on_two_devices(void **state)
{
    (void)state;
    begin(2);
    between(OTHER, 77, 8);
    done();
}

/* Direct access is refused, or was found not to work: copies go through host memory. */
static void random_layouts_on_two_strangers(void **state)
{
    (void)state;
    begin(2);
    acu_process_statistics before = {.size = sizeof before}, now = {.size = sizeof now};
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_CtxEnablePeerAccess,
                              .result = ACU_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED};
    assert_works(acu_driver_fail(&fault));
    assert_int_equal(acu_device_open_peer(devices[0], devices[1]), ACU_ERR_NOT_SUPPORTED);
    acu_driver_fail_clear();
    acu_process_stats(&before);
    between(OTHER, 79, 6);
    acu_process_stats(&now);
    assert_true(now.staged_copies > before.staged_copies);
    done();
}

static void random_layouts_on_two_peers(void **state)
{
    (void)state;
    begin(2);
    acu_process_statistics before = {.size = sizeof before}, now = {.size = sizeof now};
    for (int i = 0; i < 2; i++) {
        if (acu_device_open_peer(devices[i], devices[1 - i]) == ACU_OK)
            continue;
        assert_int_equal(acu_last_error()->status, ACU_ERR_NOT_SUPPORTED);
        done();
        skip();
    }
    side *dst, *src;
    test_random random = {.state = 3};
    dst = side_new(OTHER, &random);
    src = side_new(DEVICE, &random);
    acu_process_stats(&before);
    assert_works(acu_sync(NULL, acu_copy(dst->whole, src->whole), NULL));
    acu_process_stats(&now);
    assert_int_equal(now.staged_copies, before.staged_copies);
    memcpy(dst->want, src->want, ROOM);
    side_check(dst, "to a peer");
    side_free(dst);
    side_free(src);
    between(OTHER, 78, 8);
    done();
}

/* ---- one by one ---- */

static void transposes_of_every_size_of_element(void **state)
{
    (void)state;
    begin(1);
    const acu_dtype dtypes[] = {ACU_U8, ACU_U16, ACU_U32, ACU_U64};
    test_random random = {.state = 5};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        size_t size = acu_dtype_bytes(dtypes[i]);
        acu_shape shape = ACU_SHAPE(3, 65, 40);
        view to = {.strides = {65 * 40, 40, 1}}, from = {.strides = {1, 3, 3 * 65}};
        view turned = {.strides = {65 * 40, 1, 65}};
        side *dst = side_new(DEVICE, &random), *src = side_new(DEVICE, &random);
        for (int k = 0; k < 2; k++) {
            view *v = k ? &turned : &from;
            assert_works(acu_tensor_create_strided(dst->buffer, 0, dtypes[i], shape, to.strides,
                                                   &to.tensor));
            assert_works(acu_tensor_create_strided(src->buffer, 0, dtypes[i], shape, v->strides,
                                                   &v->tensor));
            assert_works(acu_sync(NULL, acu_copy(to.tensor, v->tensor), NULL));
            copy_wanted(dst, &to, src, v, shape, size);
            side_check(dst, "transposed");
            acu_tensor_release(to.tensor);
            acu_tensor_release(v->tensor);
        }
        side_free(dst);
        side_free(src);
    }
    done();
}

static void new_tensors_of_views(void **state)
{
    (void)state;
    begin(1);
    int32_t numbers[48], got[12];
    acu_tensor *x, *column, *twin, *host, *there;
    for (int i = 0; i < 48; i++)
        numbers[i] = i;
    assert_works(acu_tensor_alloc(devices[0], ACU_I32, ACU_SHAPE(12, 4), &x));
    assert_works(acu_write_sync(x, numbers, sizeof numbers));
    assert_works(acu_tensor_slice(x, (int64_t[]){0, 2}, (int64_t[]){12, 3}, &column));
    assert_works(acu_sync(NULL, acu_dup(column), &twin));
    assert_true(acu_tensor_dense(twin));
    assert_works(acu_read_sync(twin, got, sizeof got));
    for (int i = 0; i < 12; i++)
        assert_int_equal(got[i], 4 * i + 2);
    assert_works(acu_sync(NULL, acu_to_host(column), &host));
    assert_int_equal(((int32_t *)acu_tensor_host(host))[11], 46);
    assert_works(acu_sync(NULL, acu_to_device(devices[0], column), &there));
    assert_works(acu_read_sync(there, got, sizeof got));
    assert_int_equal(got[5], 22);
    assert_works(acu_read_sync(column, got, sizeof got));
    assert_int_equal(got[11], 46);
    for (int i = 0; i < 12; i++)
        got[i] = -i;
    assert_works(acu_write_sync(column, got, sizeof got));
    assert_works(acu_read_sync(x, numbers, sizeof numbers));
    for (int i = 0; i < 48; i++)
        assert_int_equal(numbers[i], i % 4 == 2 ? -(i / 4) : i);
    acu_tensor *alternate;
    assert_works(acu_tensor_create_strided(acu_tensor_buffer(host), 0, ACU_I32, ACU_SHAPE(2, 3),
                                           (int64_t[]){1, 4}, &alternate));
    assert_works(acu_write_sync(alternate, numbers, 24)); /* in host memory */
    assert_int_equal(((int32_t *)acu_tensor_host(host))[4], numbers[1]);
    assert_int_equal(((int32_t *)acu_tensor_host(host))[1], numbers[3]);
    assert_works(acu_read_sync(alternate, got, 24));
    assert_memory_equal(got, numbers, 24);
    acu_tensor_release(alternate);
    /* A stride of one element is never used. */
    assert_works(acu_tensor_create_strided(acu_tensor_buffer(x), 0, ACU_I32, ACU_SHAPE(1, 3),
                                           (int64_t[]){INT64_MAX, 4}, &alternate));
    acu_tensor_release(twin);
    assert_works(acu_sync(NULL, acu_dup(alternate), &twin));
    assert_works(acu_read_sync(twin, got, 12));
    assert_int_equal(got[2], 8);
    acu_tensor_release(alternate);
    acu_tensor_release(x);
    acu_tensor_release(column);
    acu_tensor_release(twin);
    acu_tensor_release(host);
    acu_tensor_release(there);
    done();
}

static void what_shares_bytes_is_refused(void **state)
{
    (void)state;
    begin(1);
    acu_tensor *x, *even, *odd, *left, *right, *turned;
    assert_works(acu_tensor_alloc(devices[0], ACU_U8, ACU_SHAPE(64, 64), &x));
    acu_buffer *b = acu_tensor_buffer(x);
    acu_shape half = ACU_SHAPE(64, 32);
    assert_works(acu_tensor_create_strided(b, 0, ACU_U8, half, (int64_t[]){64, 2}, &even));
    assert_works(acu_tensor_create_strided(b, 1, ACU_U8, half, (int64_t[]){64, 2}, &odd));
    assert_works(acu_tensor_slice(x, (int64_t[]){0, 0}, (int64_t[]){64, 32}, &left));
    assert_works(acu_tensor_slice(x, (int64_t[]){0, 31}, (int64_t[]){64, 63}, &right));
    assert_works(acu_tensor_create_strided(b, 0, ACU_U8, ACU_SHAPE(64, 64), (int64_t[]){1, 64},
                                           &turned));
    assert_works(acu_sync(NULL, acu_fill(x, acu_u8(1)), NULL));
    assert_works(acu_sync(NULL, acu_copy(even, odd), NULL)); /* between one another, and apart */
    assert_works(acu_sync(NULL, acu_copy(x, x), NULL));      /* each to its own place */
    assert_fails(acu_sync(NULL, acu_copy(left, right), NULL), ACU_ERR_INVALID, "share bytes");
    assert_fails(acu_sync(NULL, acu_copy(left, even), NULL), ACU_ERR_INVALID, "share bytes");
    assert_fails(acu_sync(NULL, acu_copy(x, turned), NULL), ACU_ERR_INVALID, "share bytes");
    acu_tensor *all[] = {x, even, odd, left, right, turned};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        acu_tensor_release(all[i]);
    done();
}

/* ---- images and fills ---- */

static void pitched_images(void **state)
{
    (void)state;
    begin(1);
    enum { H = 37, W = 45, C = 3 };
    static unsigned char in[H * W * C], out[H * W * C];
    acu_tensor *image, *host, *window, *big;
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i * 5 + i / 100);
    assert_works(acu_tensor_alloc_pitched(devices[0], ACU_U8, ACU_SHAPE(H, W, C), &image));
    assert_int_equal(acu_tensor_pitch(image), 512);
    assert_false(acu_tensor_dense(image));
    assert_works(acu_tensor_alloc_pinned(devices[0], ACU_U8, ACU_SHAPE(H, W, C), &host));
    assert_int_equal(acu_tensor_pitch(host), W * C);
    memcpy(acu_tensor_host(host), in, sizeof in);
    assert_works(acu_sync(NULL, acu_copy(image, host), NULL));
    memset(acu_tensor_host(host), 0, sizeof in);
    assert_works(acu_sync(NULL, acu_copy(host, image), NULL));
    assert_memory_equal(acu_tensor_host(host), in, sizeof in);
    assert_works(acu_tensor_slice(image, (int64_t[]){5, 7, 0}, (int64_t[]){30, 40, C}, &window));
    assert_int_equal(acu_tensor_pitch(window), 512);
    assert_works(acu_sync(NULL, acu_fill(window, acu_u8(9)), NULL));
    assert_works(acu_sync(NULL, acu_copy(host, image), NULL));
    memcpy(out, acu_tensor_host(host), sizeof out);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W * C; x++)
            assert_int_equal(out[y * W * C + x], y >= 5 && y < 30 && x >= 7 * C && x < 40 * C
                                                     ? 9 : in[y * W * C + x]);
    assert_fails(acu_tensor_alloc_pitched(devices[0], ACU_U8, ACU_SHAPE(7), &big), ACU_ERR_SHAPE,
                 "[7]|height");
    acu_tensor_release(image);
    acu_tensor_release(host);
    acu_tensor_release(window);
    done();
}

static void fill_once(test_random *random, side *s)
{
    static const acu_dtype dtypes[] = {ACU_U8, ACU_U16, ACU_U32, ACU_U64};
    acu_dtype dtype = dtypes[test_below(random, 4)];
    size_t size = acu_dtype_bytes(dtype);
    acu_shape shape = draw_shape(random);
    view v, one = {.offset = 0};
    if (!draw_view(random, shape, size, &v))
        return;
    uint64_t bits = test_next(random);
    if (test_below(random, 3) == 0)
        bits = (uint32_t)bits * UINT64_C(0x100000001);
    assert_works(acu_tensor_create_strided(s->buffer, v.offset, dtype, shape, v.strides,
                                           &v.tensor));
    assert_works(acu_submit(NULL, acu_fill(v.tensor, acu_arg_scalar(dtype, bits)), NULL, NULL));
    side *scalar = calloc(1, sizeof *scalar);
    memcpy(scalar->want, &bits, 8);
    copy_wanted(s, &v, scalar, &one, shape, size);
    free(scalar);
    acu_tensor_release(v.tensor);
}

static void fills_of_any_layout(void **state)
{
    (void)state;
    begin(1);
    test_random random = {.state = 21};
    side *s = side_new(DEVICE, &random);
    for (int i = 0; i < 60; i++) {
        fill_once(&random, s);
        if (i % 8 == 7)
            side_check(s, "filled");
    }
    side_check(s, "filled");
    side_free(s);
    done();
}

/* ---- many at once ---- */

enum { MANY = 200, EACH = 300 };

static void many(place to, place from)
{
    test_random random = {.state = 9};
    side *dst = side_new(to, &random), *src = side_new(from, &random);
    static unsigned char side_bytes[ROOM];
    acu_tensor *tos[MANY], *froms[MANY];
    acu_op *ops[MANY];
    for (size_t i = 0; i < MANY; i++) {
        size_t bytes = 1 + i % EACH, at = i * EACH + i % 5, other = (i * 37 % MANY) * EACH;
        acu_shape shape = ACU_SHAPE((int64_t)bytes);
        assert_works(acu_tensor_create(dst->buffer, at, ACU_U8, shape, &tos[i]));
        assert_works(acu_tensor_create(src->buffer, other, ACU_U8, shape, &froms[i]));
        memcpy(dst->want + at, src->want + other, bytes);
    }
    assert_works(acu_sync(NULL, acu_copy_many(tos, froms, MANY), NULL));
    side_check(dst, "many");
    memset(side_bytes, 0, sizeof side_bytes);
    assert_works(acu_write_sync(dst->whole, side_bytes, ROOM));
    for (size_t i = 0; i < ROOM; i++)
        dst->want[i] = 0;
    for (size_t i = 0; i < MANY; i++)
        memcpy(dst->want + i * EACH + i % 5, src->want + (i * 37 % MANY) * EACH, 1 + i % EACH);
    for (size_t i = 0; i < MANY; i++)
        ops[i] = acu_copy(tos[i], froms[i]);
    assert_works(acu_sync(NULL, acu_op_zip(ops, MANY, ACU_SITE), NULL));
    side_check(dst, "many, zipped");
    for (size_t i = 0; i < MANY; i++) {
        acu_tensor_release(tos[i]);
        acu_tensor_release(froms[i]);
    }
    side_free(dst);
    side_free(src);
}

static void many_at_once(void **state)
{
    (void)state;
    begin(1);
    many(DEVICE, PINNED);
    many(WRAPPED, DEVICE);
    many(DEVICE, DEVICE);
    many(DEVICE, PAGEABLE);
    assert_works(acu_sync(devices[0], acu_copy_many(NULL, NULL, 0), NULL));
    acu_tensor *none[1] = {NULL};
    assert_fails(acu_sync(devices[0], acu_copy_many(none, none, 1), NULL), ACU_ERR_INVALID,
                 "destination 0");
    done();
}

static acu_op *fill_later(void *user, acu_val *values, size_t count)
{
    (void)user, (void)count;
    return acu_fill(acu_take(&values[0]), acu_u8(77));
}

/* One of the zipped copies reads what two ops before it write: copies are not joined in a way that
 * would break this order. */
static void many_with_others_between(void **state)
{
    (void)state;
    begin(1);
    acu_tensor *x, *y, *parts[8], *others[8];
    acu_op *ops[8];
    unsigned char got[8 * 16];
    assert_works(acu_tensor_alloc(devices[0], ACU_U8, ACU_SHAPE(8, 16), &x));
    assert_works(acu_tensor_alloc(devices[0], ACU_U8, ACU_SHAPE(8, 16), &y));
    assert_works(acu_submit(NULL, acu_zip(acu_fill(x, acu_u8(1)), acu_fill(y, acu_u8(2))), NULL,
                            NULL));
    for (int64_t i = 0; i < 8; i++) {
        const int64_t start[] = {i, 0}, end[] = {i + 1, 16};
        assert_works(acu_tensor_slice(x, start, end, &parts[i]));
        assert_works(acu_tensor_slice(y, start, end, &others[i]));
        ops[i] = i == 5 ? acu_copy(parts[i],
                                   acu_then(acu_fill(others[i], acu_u8(5)), fill_later, NULL))
                        : acu_copy(parts[i], others[i]);
    }
    assert_works(acu_sync(NULL, acu_op_zip(ops, 8, ACU_SITE), NULL));
    assert_works(acu_read_sync(x, got, sizeof got));
    for (size_t i = 0; i < sizeof got; i++)
        assert_int_equal(got[i], i / 16 == 5 ? 77 : 2);
    for (int i = 0; i < 8; i++) {
        acu_tensor_release(parts[i]);
        acu_tensor_release(others[i]);
    }
    acu_tensor_release(x);
    acu_tensor_release(y);
    done();
}

/* If there is no memory to join the copies, the ops that were planned between them are given up,
 * too. */
static void many_without_memory(void **state)
{
    enum { FEW = 3, ALL = 2 * FEW + 1, SIDE = 64 };
    acu_tensor *x[2], *views[2][ALL];
    bool tried = true;
    (void)state;
    begin(1);
    for (int k = 0; k < 2; k++) {
        assert_works(acu_tensor_alloc(devices[0], ACU_I32, ACU_SHAPE(ALL, SIDE), &x[k]));
        assert_works(acu_sync(devices[0], acu_fill(x[k], acu_i32(k)), NULL));
        for (int i = 0; i < ALL; i++) {
            const int64_t start[] = {i, 0}, end[] = {i + 1, SIDE},
                          step[] = {1, i == FEW ? 2 + k : 1};
            const int64_t last[] = {i + 1, i == FEW ? 20 * (2 + k) : SIDE};
            assert_works(acu_tensor_slice_step(x[k], start, i == FEW ? last : end, step,
                                               &views[k][i]));
        }
    }
    assert_works(acu_sync(devices[0], acu_copy_many(views[0], views[1], ALL), NULL));
    for (uint64_t k = 1; tried; k++) {
        acu_op *op = acu_copy_many(views[0], views[1], ALL);
        acu_debug_fail_alloc(k, false);
        acu_status status = acu_submit(devices[0], op, NULL, NULL);
        tried = acu_debug_alloc_count() >= k;
        acu_debug_fail_alloc(0, false);
        assert_true(status == ACU_OK || status == ACU_ERR_NO_MEMORY);
        assert_works(acu_device_wait(devices[0], ACU_FOREVER));
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < ALL; i++)
            acu_tensor_release(views[k][i]);
        acu_tensor_release(x[k]);
    }
    done();
}

/* Copies that need each other's results run one after the other. */
static void many_in_a_row(void **state)
{
    (void)state;
    begin(1);
    acu_tensor *x, *parts[6];
    unsigned char bytes[6 * 8], want[6 * 8];
    for (int i = 0; i < 48; i++)
        bytes[i] = (unsigned char)i;
    assert_works(acu_tensor_alloc(devices[0], ACU_U8, ACU_SHAPE(48), &x));
    assert_works(acu_write_sync(x, bytes, sizeof bytes));
    for (int64_t i = 0; i < 6; i++)
        assert_works(acu_tensor_slice(x, (int64_t[]){8 * i}, (int64_t[]){8 * i + 8}, &parts[i]));
    acu_driver_count_calls(true);
    assert_works(acu_sync(NULL, acu_copy_many(parts + 1, parts, 5), NULL));
    acu_driver_count_calls(false);
    assert_int_equal(acu_driver_calls(ACU_CALL_LaunchKernel), 0); /* whose copies might overlap */
    for (int i = 0; i < 48; i++)
        want[i] = (unsigned char)(i % 8);
    assert_works(acu_read_sync(x, bytes, sizeof bytes));
    assert_memory_equal(bytes, want, sizeof want);
    for (int i = 0; i < 6; i++)
        acu_tensor_release(parts[i]);
    acu_tensor_release(x);
    done();
}

/* ---- more than 4 GiB, on a GPU with enough memory ---- */

static void large_copies(void **state)
{
    (void)state;
    begin(1);
    size_t left, total;
    int64_t rows = (INT64_C(1) << 32) / 64 + 3;
    assert_works(acu_device_memory(devices[0], &left, &total));
    if (!test_on_gpu() || left < (size_t)16 << 30) {
        done();
        skip();
    }
    acu_tensor *x, *y, *left_half, *right_half, *turned, *row;
    assert_works(acu_tensor_alloc(devices[0], ACU_U8, ACU_SHAPE(rows, 64), &x));
    assert_works(acu_tensor_alloc(devices[0], ACU_U8, ACU_SHAPE(rows, 64), &y));
    assert_works(acu_submit(NULL, acu_fill(x, acu_u8(3)), NULL, NULL));
    assert_works(acu_submit(NULL, acu_fill(y, acu_u8(4)), NULL, NULL));
    assert_works(acu_tensor_slice(x, (int64_t[]){0, 0}, (int64_t[]){rows, 33}, &left_half));
    assert_works(acu_tensor_slice(y, (int64_t[]){0, 31}, (int64_t[]){rows, 64}, &right_half));
    assert_works(acu_submit(NULL, acu_copy(right_half, left_half), NULL, NULL)); /* by a kernel */
    assert_works(acu_tensor_create_strided(acu_tensor_buffer(x), 0, ACU_U8, ACU_SHAPE(64, rows),
                                           (int64_t[]){1, 64}, &turned));
    acu_tensor *z;
    assert_works(acu_sync(NULL, acu_dup(y), &z));
    unsigned char got[64];
    for (int64_t at = 0; at < rows; at += (rows - 1) / 2) {
        assert_works(acu_tensor_slice(z, (int64_t[]){at, 0}, (int64_t[]){at + 1, 64}, &row));
        assert_works(acu_read_sync(row, got, sizeof got));
        for (int i = 0; i < 64; i++)
            assert_int_equal(got[i], i < 31 ? 4 : 3);
        acu_tensor_release(row);
    }
    acu_tensor *all[] = {x, y, z, left_half, right_half, turned};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        acu_tensor_release(all[i]);
    done();
}

/* Blocks that turn several tiles use their shared memory again. */
static void more_tiles_than_blocks(void **state)
{
    (void)state;
    enum { EDGE = 91 * 32 - 5 }; /* 8281 tiles */
    begin(1);
    static uint8_t bytes[EDGE * EDGE], turned[EDGE * EDGE];
    for (int i = 0; i < EDGE * EDGE; i++)
        bytes[i] = (uint8_t)(i % 253);
    acu_tensor *x, *y, *across;
    assert_works(acu_tensor_alloc(devices[0], ACU_U8, ACU_SHAPE(EDGE, EDGE), &x));
    assert_works(acu_tensor_alloc(devices[0], ACU_U8, ACU_SHAPE(EDGE, EDGE), &y));
    assert_works(acu_write_sync(x, bytes, sizeof bytes));
    assert_works(acu_tensor_transpose(x, 0, 1, &across));
    assert_works(acu_sync(NULL, acu_copy(y, across), NULL));
    assert_works(acu_read_sync(y, turned, sizeof turned));
    for (int i = 0; i < EDGE * EDGE; i++)
        if (turned[i] != bytes[i % EDGE * EDGE + i / EDGE])
            fail_msg("element %d is %d, not %d", i, turned[i], bytes[i % EDGE * EDGE + i / EDGE]);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(across);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_layouts),
        cmocka_unit_test(random_layouts_on_two_devices),
        cmocka_unit_test(random_layouts_on_two_strangers),
        cmocka_unit_test(random_layouts_on_two_peers),
        cmocka_unit_test(transposes_of_every_size_of_element),
        cmocka_unit_test(more_tiles_than_blocks),
        cmocka_unit_test(new_tensors_of_views),
        cmocka_unit_test(what_shares_bytes_is_refused),
        cmocka_unit_test(pitched_images),
        cmocka_unit_test(fills_of_any_layout),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(many_with_others_between),
        cmocka_unit_test(many_without_memory),
        cmocka_unit_test(many_in_a_row),
        cmocka_unit_test(large_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
