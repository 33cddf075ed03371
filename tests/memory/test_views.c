/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Views: what each yields and refuses, and long chains of random views against a model that keeps,
 * for each element of a view, its place in bytes.
 */
#include "memory/memory.h"
#include "support/one_device.h"

#define BYTES 4096

static acu_buffer *buffer;
static acu_tensor *t, *view;

static int setup(void **state)
{
    device_setup(state);
    assert_works(acu_buffer_create(device, BYTES, &buffer));
    assert_works(acu_tensor_create(buffer, 0, ACU_U16, ACU_SHAPE(4, 6, 10), &t));
    view = NULL;
    return 0;
}

static int teardown(void **state)
{
    acu_tensor_release(view);
    acu_tensor_release(t);
    acu_buffer_release(buffer);
    return device_teardown(state);
}

/* Checks where the view begins, in bytes from the buffer's start, and its shape and strides.
 * Releases it. */
static void check_view(acu_dtype dtype, uint64_t start, acu_shape shape, const int64_t *strides)
{
    assert_int_equal(acu_tensor_dtype(view), dtype);
    assert_int_equal(acu_tensor_address(view) - acu_buffer_address(buffer), start);
    assert_true(acu_shape_equal(acu_tensor_shape(view), shape));
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] > 1)
            assert_int_equal(acu_tensor_strides(view)[d], strides[d]);
    acu_tensor_release(view);
    view = NULL;
}
#define check_view(dtype, start, shape, ...)                                                       \
    check_view(dtype, start, shape, (const int64_t[]){__VA_ARGS__})

static void slices_may_step(void **state)
{
    (void)state;
    const int64_t start[] = {1, 0, 3}, end[] = {4, 6, 10}, step[] = {2, 3, 4};
    assert_works(acu_tensor_slice_step(t, start, end, step, &view));
    check_view(ACU_U16, 126, ACU_SHAPE(2, 2, 2), 120, 30, 4);
    const int64_t far[] = {INT64_MAX, INT64_MAX, INT64_MAX};
    assert_works(acu_tensor_slice_step(t, start, end, far, &view));
    check_view(ACU_U16, 126, ACU_SHAPE(1, 1, 1), 0, 0, 0);
    const int64_t back[] = {1, -1, 1};
    assert_fails(acu_tensor_slice_step(t, start, end, back, &view), ACU_ERR_SHAPE,
                 "dimension 1 in steps of -1|1 or more");
    assert_fails(acu_tensor_slice_step(t, start, end, NULL, &view), ACU_ERR_INVALID,
                 "step is NULL");
}

static void one_index_is_selected(void **state)
{
    (void)state;
    assert_works(acu_tensor_select(t, 1, 5, &view));
    check_view(ACU_U16, 100, ACU_SHAPE(4, 10), 60, 1);
    assert_works(acu_tensor_select(t, -3, 3, &view));
    check_view(ACU_U16, 360, ACU_SHAPE(6, 10), 10, 1);
    assert_fails(acu_tensor_select(t, 1, 6, &view), ACU_ERR_SHAPE,
                 "u16 [4, 6, 10] has no index 6 in dimension 1");
    assert_fails(acu_tensor_select(t, 1, -1, &view), ACU_ERR_SHAPE, "no index -1");
    assert_fails(acu_tensor_select(t, 3, 0, &view), ACU_ERR_SHAPE, "dimension 3|0 to 2|-1 to -3");
    acu_tensor *flat = NULL;
    assert_works(acu_tensor_flatten(t, &flat));
    assert_works(acu_tensor_select(flat, 0, 7, &view));
    check_view(ACU_U16, 14, ACU_RANK_0, 0);
    acu_tensor_release(flat);
    assert_null(view);
}

static void dimensions_of_one_element_come_and_go(void **state)
{
    (void)state;
    acu_tensor *more = NULL;
    assert_works(acu_tensor_unsqueeze(t, -1, &more));
    assert_true(acu_shape_equal(acu_tensor_shape(more), ACU_SHAPE(4, 6, 10, 1)));
    assert_true(acu_tensor_dense(more));
    assert_works(acu_tensor_squeeze(more, 3, &view));
    check_view(ACU_U16, 0, ACU_SHAPE(4, 6, 10), 60, 10, 1);
    assert_fails(acu_tensor_squeeze(more, 1, &view), ACU_ERR_SHAPE, "dimension 1|6 elements");
    acu_tensor_release(more);
    assert_works(acu_tensor_unsqueeze(t, 0, &view));
    check_view(ACU_U16, 0, ACU_SHAPE(1, 4, 6, 10), 0, 60, 10, 1);
    assert_fails(acu_tensor_unsqueeze(t, 4, &view), ACU_ERR_SHAPE, "dimension 4");
    assert_works(acu_tensor_reshape(t, ACU_SHAPE(2, 2, 2, 3, 2, 5), &more));
    assert_fails(acu_tensor_unsqueeze(more, 0, &view), ACU_ERR_SHAPE, "6 dimensions, the most");
    acu_tensor_release(more);
    assert_null(view);
}

static void dimensions_change_places(void **state)
{
    (void)state;
    assert_works(acu_tensor_permute(t, (const int[]){2, 0, -2}, &view));
    assert_true(acu_tensor_writable(view));
    check_view(ACU_U16, 0, ACU_SHAPE(10, 4, 6), 1, 60, 10);
    assert_works(acu_tensor_transpose(t, 0, -1, &view));
    check_view(ACU_U16, 0, ACU_SHAPE(10, 6, 4), 1, 10, 60);
    assert_fails(acu_tensor_permute(t, (const int[]){2, 0, 2}, &view), ACU_ERR_SHAPE,
                 "2 comes twice");
    assert_fails(acu_tensor_permute(t, (const int[]){2, 0, 3}, &view), ACU_ERR_SHAPE,
                 "dimension 3");
    assert_fails(acu_tensor_permute(t, NULL, &view), ACU_ERR_INVALID, "order is NULL");
    assert_fails(acu_tensor_transpose(t, 0, -4, &view), ACU_ERR_SHAPE, "dimension -4");
    assert_null(view);
}

static void what_is_repeated_is_not_written(void **state)
{
    (void)state;
    acu_tensor *row = NULL;
    assert_works(acu_tensor_select(t, 0, 1, &row)); /* [6, 10] */
    assert_works(acu_tensor_broadcast_to(row, ACU_SHAPE(3, 6, 10), &view));
    assert_false(acu_tensor_writable(view));
    assert_fails(acu_sync(device, acu_fill(view, acu_u16(0)), NULL), ACU_ERR_SHARED,
                 "u16 [3, 6, 10]|may share memory");
    assert_fails(acu_sync(device, acu_partition(view, ACU_SHAPE(1, 1, 1)), NULL), ACU_ERR_SHARED,
                 "may share memory");
    check_view(ACU_U16, 120, ACU_SHAPE(3, 6, 10), 0, 10, 1);
    assert_works(acu_tensor_broadcast_to(row, ACU_SHAPE(6, 10), &view));
    assert_true(acu_tensor_writable(view));
    check_view(ACU_U16, 120, ACU_SHAPE(6, 10), 10, 1);
    assert_fails(acu_tensor_broadcast_to(row, ACU_SHAPE(6, 20), &view), ACU_ERR_SHAPE,
                 "[6, 10] can not be broadcast to [6, 20]");
    assert_fails(acu_tensor_broadcast_to(row, ACU_SHAPE(10), &view), ACU_ERR_SHAPE, "to [10]");
    acu_tensor_release(row);
    /* windows that overlap, as a convolution sees its input */
    const int64_t windows[] = {1, 1};
    assert_works(acu_tensor_create_strided(buffer, 0, ACU_U8, ACU_SHAPE(5, 3), windows, &view));
    assert_false(acu_tensor_writable(view));
}

static void another_shape_needs_as_many_elements(void **state)
{
    (void)state;
    assert_works(acu_tensor_reshape(t, ACU_SHAPE(ACU_REST, 20), &view));
    check_view(ACU_U16, 0, ACU_SHAPE(12, 20), 20, 1);
    assert_fails(acu_tensor_reshape(t, ACU_SHAPE(7, ACU_REST), &view), ACU_ERR_SHAPE,
                 "240 elements|[7, -1]");
    assert_fails(acu_tensor_reshape(t, ACU_SHAPE(ACU_REST, ACU_REST), &view), ACU_ERR_SHAPE,
                 "[-1, -1]|one extent may be ACU_REST");
    assert_fails(acu_tensor_reshape(t, ACU_SHAPE(4, 6, 11), &view), ACU_ERR_SHAPE,
                 "[4, 6, 10] has 240 elements, [4, 6, 11] has 264");
    acu_tensor *part = NULL;
    assert_works(acu_tensor_slice(t, (int64_t[]){0, 2, 0}, (int64_t[]){4, 4, 10}, &part));
    assert_works(acu_tensor_reshape(part, ACU_SHAPE(2, 2, 4, 5), &view));
    check_view(ACU_U16, 40, ACU_SHAPE(2, 2, 4, 5), 120, 60, 5, 1);
    assert_fails(acu_tensor_reshape(part, ACU_SHAPE(8, 10), &view), ACU_ERR_SHAPE,
                 "u16 [4, 2, 10] lies in memory with gaps|[8, 10]|acu_dup");
    acu_tensor_release(part);
    assert_null(view);
}

static void bytes_are_seen_as_other_elements(void **state)
{
    (void)state;
    assert_works(acu_tensor_reinterpret(t, ACU_BF16, &view));
    check_view(ACU_BF16, 0, ACU_SHAPE(4, 6, 10), 60, 10, 1);
    assert_works(acu_tensor_reinterpret(t, ACU_F32, &view));
    check_view(ACU_F32, 0, ACU_SHAPE(4, 6, 5), 30, 5, 1);
    assert_works(acu_tensor_reinterpret(t, ACU_F8E5M2, &view));
    check_view(ACU_F8E5M2, 0, ACU_SHAPE(4, 6, 20), 120, 20, 1);
    assert_fails(acu_tensor_reinterpret(t, ACU_F64, &view), ACU_ERR_SHAPE,
                 "[4, 6, 10] can not be seen as f64|2 bytes become ones of 8");
    assert_fails(acu_tensor_reinterpret(t, ACU_NO_DTYPE, &view), ACU_ERR_DTYPE, "0 is no element");
    acu_tensor *part = NULL;
    assert_works(acu_tensor_slice(t, (int64_t[]){0, 0, 1}, (int64_t[]){4, 6, 5}, &part));
    assert_fails(acu_tensor_reinterpret(part, ACU_U32, &view), ACU_ERR_INVALID,
                 "starts 2 bytes behind a multiple of 4");
    acu_tensor_release(part);
    assert_works(acu_tensor_transpose(t, 1, 2, &part));
    assert_works(acu_tensor_reinterpret(part, ACU_I16, &view)); /* of equal size: any strides */
    check_view(ACU_I16, 0, ACU_SHAPE(4, 10, 6), 60, 1, 10);
    assert_fails(acu_tensor_reinterpret(part, ACU_U8, &view), ACU_ERR_SHAPE, "contiguous");
    acu_tensor_release(part);
    assert_null(view);
}

static void a_view_needs_a_tensor_and_a_place(void **state)
{
    (void)state;
    assert_fails(acu_tensor_flatten(t, NULL), ACU_ERR_INVALID, "place for the view is NULL");
    assert_fails(acu_tensor_transpose((acu_tensor *)buffer, 0, 1, &view), ACU_ERR_INVALID,
                 "acu_tensor_transpose: wants a tensor, got a buffer");
    assert_fails(acu_tensor_reinterpret(NULL, ACU_U8, &view), ACU_ERR_INVALID,
                 "acu_tensor_reinterpret");
    assert_null(view);
}

/* ---- chains of random views against the model ------------------------------------------------ */

#define MOST 2048 /* elements of a view */

typedef struct model {
    acu_shape shape;
    acu_dtype dtype;
    uint64_t at[MOST]; /* bytes behind the buffer's start, in row-major order */
} model;

static int64_t place_of(acu_shape shape, const int64_t *index)
{
    int64_t place = 0;
    for (int d = 0; d < shape.rank; d++)
        place = place * shape.dim[d] + index[d];
    return place;
}

static bool next_index(acu_shape shape, int64_t *index)
{
    for (int d = shape.rank; d-- > 0;) {
        if (++index[d] < shape.dim[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* to[index] = from[source(index)]: each view but reinterpret is a choice of elements. */
typedef void (*source_fn)(const model *from, const int64_t *index, const int64_t *args,
                          int64_t *source);

static void choose(const model *from, model *to, acu_shape shape, source_fn source,
                   const int64_t *args)
{
    int64_t index[ACU_MAX_RANK] = {0}, other[ACU_MAX_RANK] = {0};
    size_t n = 0;
    to->shape = shape;
    to->dtype = from->dtype;
    do {
        source(from, index, args, other);
        to->at[n++] = from->at[place_of(from->shape, other)];
    } while (next_index(shape, index));
}

/* args: starts, then steps */
static void source_of_slice(const model *from, const int64_t *index, const int64_t *args,
                            int64_t *source)
{
    for (int d = 0; d < from->shape.rank; d++)
        source[d] = args[d] + index[d] * args[ACU_MAX_RANK + d];
}

static void source_of_permute(const model *from, const int64_t *index, const int64_t *args,
                              int64_t *source)
{
    for (int d = 0; d < from->shape.rank; d++)
        source[args[d]] = index[d];
}

/* args[0]: the rank of the new shape */
static void source_of_broadcast(const model *from, const int64_t *index, const int64_t *args,
                                int64_t *source)
{
    for (int d = 0; d < from->shape.rank; d++) {
        int64_t i = index[d + args[0] - from->shape.rank];
        source[d] = from->shape.dim[d] == 1 ? 0 : i;
    }
}

/* args[0]: the dimension, args[1]: the index */
static void source_of_select(const model *from, const int64_t *index, const int64_t *args,
                             int64_t *source)
{
    for (int d = 0; d < from->shape.rank; d++)
        source[d] = d == args[0] ? args[1] : index[d - (d > args[0])];
}

static acu_status random_slice(test_random *r, acu_tensor *from, const model *was, model *is,
                               acu_tensor **to)
{
    int64_t args[2 * ACU_MAX_RANK] = {0}, end[ACU_MAX_RANK] = {0};
    acu_shape shape = was->shape;
    for (int d = 0; d < shape.rank; d++) {
        int64_t *start = &args[d], *step = &args[ACU_MAX_RANK + d], n = shape.dim[d];
        *start = (int64_t)test_below(r, 2) ? 0 : (int64_t)test_below(r, (uint64_t)n);
        end[d] = *start + 1 + (int64_t)test_below(r, (uint64_t)(n - *start));
        *step = test_below(r, 3) ? 1 : 1 + (int64_t)test_below(r, 3);
        shape.dim[d] = (end[d] - *start + *step - 1) / *step;
    }
    choose(was, is, shape, source_of_slice, args);
    return acu_tensor_slice_step(from, args, end, args + ACU_MAX_RANK, to);
}

static acu_status random_permute(test_random *r, acu_tensor *from, const model *was, model *is,
                                 acu_tensor **to)
{
    int order[ACU_MAX_RANK];
    int64_t args[ACU_MAX_RANK];
    acu_shape shape = was->shape;
    for (int d = 0; d < shape.rank; d++)
        order[d] = d;
    for (int d = shape.rank - 1; d > 0; d--) {
        int other = (int)test_below(r, (uint64_t)d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    for (int d = 0; d < shape.rank; d++) {
        args[d] = order[d];
        shape.dim[d] = was->shape.dim[order[d]];
        if (test_below(r, 2))
            order[d] -= shape.rank;
    }
    choose(was, is, shape, source_of_permute, args);
    return acu_tensor_permute(from, order, to);
}

static acu_status random_broadcast(test_random *r, acu_tensor *from, const model *was, model *is,
                                   acu_tensor **to)
{
    int more = (int)test_below(r, (uint64_t)(ACU_MAX_RANK - was->shape.rank) + 1);
    acu_shape shape = {.rank = was->shape.rank + more};
    int64_t room = MOST / acu_shape_elements(was->shape);
    for (int d = shape.rank; d-- > 0;) {
        int64_t n = d < more ? 1 : was->shape.dim[d - more];
        shape.dim[d] = n == 1 ? 1 + (int64_t)test_below(r, (uint64_t)(room < 3 ? room : 3)) : n;
        room /= n == 1 ? shape.dim[d] : 1;
    }
    choose(was, is, shape, source_of_broadcast, (int64_t[]){shape.rank});
    return acu_tensor_broadcast_to(from, shape, to);
}

static acu_status random_select(test_random *r, acu_tensor *from, const model *was, model *is,
                                acu_tensor **to)
{
    if (was->shape.rank == 1)
        return random_slice(r, from, was, is, to);
    int dimension = (int)test_below(r, (uint64_t)was->shape.rank);
    int64_t index = (int64_t)test_below(r, (uint64_t)was->shape.dim[dimension]);
    acu_shape shape = {.rank = was->shape.rank - 1};
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = was->shape.dim[d + (d >= dimension)];
    choose(was, is, shape, source_of_select, (int64_t[]){dimension, index});
    return acu_tensor_select(from, dimension, index, to);
}

/* Whether some strides give these elements in this order. */
static bool has_strides(const model *m)
{
    int64_t strides[ACU_MAX_RANK] = {0}, index[ACU_MAX_RANK] = {0};
    for (int d = 0; d < m->shape.rank; d++) {
        int64_t one[ACU_MAX_RANK] = {0};
        one[d] = m->shape.dim[d] > 1;
        strides[d] = (int64_t)(m->at[place_of(m->shape, one)] - m->at[0]);
    }
    do {
        int64_t at = (int64_t)m->at[0];
        for (int d = 0; d < m->shape.rank; d++)
            at += index[d] * strides[d];
        if (at != (int64_t)m->at[place_of(m->shape, index)])
            return false;
    } while (next_index(m->shape, index));
    return true;
}

/* A reshape is refused exactly if no strides describe it. */
static acu_status random_reshape(test_random *r, acu_tensor *from, const model *was, model *is,
                                 acu_tensor **to)
{
    int64_t left = acu_shape_elements(was->shape);
    acu_shape shape = {.rank = 0};
    while (shape.rank < ACU_MAX_RANK - 1 && test_below(r, 4)) {
        int64_t n = 1 + (int64_t)test_below(r, 6);
        if (left % n == 0) {
            shape.dim[shape.rank++] = n;
            left /= n;
        }
    }
    shape.dim[shape.rank++] = left;
    *is = *was;
    is->shape = shape;
    if (test_below(r, 2))
        shape.dim[test_below(r, (uint64_t)shape.rank)] = ACU_REST;
    if (has_strides(is))
        return acu_tensor_reshape(from, shape, to);
    assert_fails(acu_tensor_reshape(from, shape, to), ACU_ERR_SHAPE, "gaps");
    return ACU_ERR_SHAPE;
}

static acu_status random_reinterpret(test_random *r, acu_tensor *from, const model *was, model *is,
                                     acu_tensor **to)
{
    static const acu_dtype dtypes[] = {ACU_U8, ACU_F16, ACU_F32, ACU_I64};
    acu_dtype dtype = dtypes[test_below(r, 4)];
    size_t a = acu_dtype_bytes(was->dtype), b = acu_dtype_bytes(dtype), n = 0;
    size_t elements = (size_t)acu_shape_elements(was->shape);
    acu_status status = acu_tensor_reinterpret(from, dtype, to);
    if (status != ACU_OK || elements * a / b > MOST) {
        if (status == ACU_OK)
            acu_tensor_release(*to);
        *to = NULL;
        return ACU_ERR_SHAPE;
    }
    is->dtype = dtype;
    is->shape = was->shape;
    is->shape.dim[is->shape.rank - 1] = is->shape.dim[is->shape.rank - 1] * (int64_t)a / (int64_t)b;
    for (size_t i = 0; i < elements * a; i += b) { /* bytes of the rows, one after the other */
        is->at[n++] = was->at[i / a] + i % a;
        for (size_t k = 1; k < b; k++)
            assert_int_equal(was->at[(i + k) / a] + (i + k) % a, is->at[n - 1] + k);
    }
    return ACU_OK;
}

static bool writes_twice(const model *m)
{
    static bool seen[BYTES];
    bool twice = false;
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < acu_shape_elements(m->shape); i++) {
        twice |= seen[m->at[i]];
        seen[m->at[i]] = true;
    }
    return twice;
}

static bool in_extent(const acui_extent *extent, uint64_t byte)
{
    return extent->begin <= byte && byte < extent->end &&
           (!extent->pitch || (byte - extent->begin) % extent->pitch < extent->width);
}

/* The extent contains all bytes of the elements and, if it claims to be exact, no others. */
static void check_extent(const acui_extent *extent, bool exact, const model *m)
{
    static bool touched[BYTES];
    memset(touched, 0, sizeof touched);
    for (int64_t i = 0; i < acu_shape_elements(m->shape); i++)
        for (size_t k = 0; k < acu_dtype_bytes(m->dtype); k++)
            touched[m->at[i] + k] = true;
    for (uint64_t byte = 0; byte < BYTES; byte++) {
        assert_true(!touched[byte] || in_extent(extent, byte));
        assert_true(!exact || touched[byte] == in_extent(extent, byte));
    }
}

/* Compares the tensor with the model. */
static void compare(const acu_tensor *tensor, const model *m)
{
    const int64_t *strides = acu_tensor_strides(tensor);
    uint64_t base = acu_tensor_address(tensor) - acu_buffer_address(buffer);
    uint64_t size = acu_dtype_bytes(m->dtype), least = base, most = 0;
    int64_t index[ACU_MAX_RANK] = {0};
    assert_int_equal(acu_tensor_dtype(tensor), m->dtype);
    assert_true(acu_shape_equal(acu_tensor_shape(tensor), m->shape));
    do {
        uint64_t at = base;
        for (int d = 0; d < m->shape.rank; d++)
            at += (uint64_t)(index[d] * strides[d]) * size;
        assert_int_equal(at, m->at[place_of(m->shape, index)]);
        most = at + size > most ? at + size : most;
    } while (next_index(m->shape, index));
    acui_extent extent = acui_tensor_extent(tensor);
    assert_int_equal(extent.begin, least);
    assert_int_equal(extent.end, most);
    check_extent(&extent, tensor->exact, m);
    if (writes_twice(m))
        assert_false(acu_tensor_writable(tensor));
    if (acu_tensor_dense(tensor))
        assert_int_equal(most - least, acu_tensor_bytes(tensor));
}

static void chains_of_views_are_what_the_model_says(void **state)
{
    (void)state;
    typedef acu_status (*random_fn)(test_random *, acu_tensor *, const model *, model *,
                                    acu_tensor **);
    static const random_fn views[] = {random_slice,      random_permute, random_broadcast,
                                      random_select,     random_reshape, random_reshape,
                                      random_reinterpret};
    static model was, is;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        test_random r = {.state = seed};
        was = (model){.shape = ACU_SHAPE(4, 6, 10), .dtype = ACU_U16};
        for (uint64_t i = 0; i < 240; i++)
            was.at[i] = 2 * i;
        acu_tensor *now = acu_tensor_retain(t);
        for (int step = 0; step < 8; step++) {
            acu_tensor *next = NULL;
            if (views[test_below(&r, 7)](&r, now, &was, &is, &next) != ACU_OK) {
                assert_null(next);
                continue;
            }
            acu_tensor_release(now);
            now = next;
            was = is;
            compare(now, &was);
        }
        acu_tensor_release(now);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(slices_may_step),
        TEST(one_index_is_selected),
        TEST(dimensions_of_one_element_come_and_go),
        TEST(dimensions_change_places),
        TEST(what_is_repeated_is_not_written),
        TEST(another_shape_needs_as_many_elements),
        TEST(bytes_are_seen_as_other_elements),
        TEST(a_view_needs_a_tensor_and_a_place),
        TEST(chains_of_views_are_what_the_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
