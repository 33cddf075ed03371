/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Views: other tensors over the same storage. */
#include "base/error.h"
#include "memory/memory.h"

#include <inttypes.h>

/* A view, in terms of its tensor's buffer. */
typedef struct layout {
    size_t offset;
    acu_dtype dtype;
    acu_shape shape;
    int64_t strides[ACU_MAX_RANK];
} layout;

static layout layout_of(const acu_tensor *tensor)
{
    layout v = {.offset = tensor->offset, .dtype = tensor->dtype, .shape = tensor->shape};
    for (int d = 0; d < v.shape.rank; d++)
        v.strides[d] = tensor->strides[d];
    return v;
}

static acu_status make(acu_tensor *tensor, const layout *v, acu_tensor **view)
{
    return acui_tensor_new(tensor->buffer, v->offset, v->dtype, v->shape, v->strides, view);
}

static acu_status check(const acu_tensor *tensor, acu_tensor **view, const char *function)
{
    ACUI_TRY(acui_object_check(tensor, ACU_OBJECT_TENSOR, function));
    return view ? ACU_OK
                : acui_fail(ACU_ERR_INVALID, "%s: the place for the view is NULL", function);
}

/* Negative dimensions count from the end. `more`: positions beyond the last dimension that are
 * allowed. */
static acu_status check_dimension(const acu_tensor *tensor, int dimension, int more, int *index)
{
    char words[96];
    int rank = tensor->shape.rank + more;
    *index = dimension < 0 ? dimension + rank : dimension;
    if (rank == 0)
        return acui_fail(ACU_ERR_SHAPE, "dimension %d of %s, which has none", dimension,
                         acui_tensor_words(tensor, words));
    if (*index >= 0 && *index < rank)
        return ACU_OK;
    return acui_fail(ACU_ERR_SHAPE, "dimension %d of %s: there are %d to %d, or -1 to -%d from the "
                                    "end",
                     dimension, acui_tensor_words(tensor, words), 0, rank - 1, rank);
}

static void remove_dimension(layout *v, int dimension)
{
    v->shape.rank--;
    for (int d = dimension; d < v->shape.rank; d++) {
        v->shape.dim[d] = v->shape.dim[d + 1];
        v->strides[d] = v->strides[d + 1];
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static acu_status slice_dimension(layout *v, int d, int64_t start, int64_t end, int64_t step)
{
    if (step < 1)
        return acui_fail(ACU_ERR_SHAPE,
                         "a slice of dimension %d in steps of %" PRId64 ": steps are 1 or more", d,
                         step);
    if (start < 0 || start > end || end > v->shape.dim[d])
        return acui_fail(ACU_ERR_SHAPE,
                         "a slice from %" PRId64 " to %" PRId64
                         " of dimension %d, which has %" PRId64 " elements",
                         start, end, d, v->shape.dim[d]);
    v->offset += (size_t)(start * v->strides[d]) * acu_dtype_bytes(v->dtype);
    v->shape.dim[d] = end > start ? (end - start - 1) / step + 1 : 0;
    if (v->shape.dim[d] > 1) /* otherwise it is never used, and might not fit */
        v->strides[d] *= step;
    return ACU_OK;
}

static acu_status slice(acu_tensor *tensor, const int64_t *start, const int64_t *end,
                        const int64_t *step, acu_tensor **view, const char *function)
{
    ACUI_TRY(check(tensor, view, function));
    if (!start || !end)
        return acui_fail(ACU_ERR_INVALID, "%s: %s is NULL", function, start ? "end" : "start");
    layout v = layout_of(tensor);
    for (int d = 0; d < v.shape.rank; d++)
        ACUI_TRY(slice_dimension(&v, d, start[d], end[d], step ? step[d] : 1));
    return make(tensor, &v, view);
}

acu_status acu_tensor_slice(acu_tensor *tensor, const int64_t *start, const int64_t *end,
                            acu_tensor **view)
{
    return slice(tensor, start, end, NULL, view, __func__);
}

acu_status acu_tensor_slice_step(acu_tensor *tensor, const int64_t *start, const int64_t *end,
                                 const int64_t *step, acu_tensor **view)
{
    if (!step)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_slice_step: step is NULL");
    return slice(tensor, start, end, step, view, __func__);
}

acu_status acu_tensor_select(acu_tensor *tensor, int dimension, int64_t index, acu_tensor **view)
{
    char words[96];
    int d;
    ACUI_TRY(check(tensor, view, __func__));
    ACUI_TRY(check_dimension(tensor, dimension, 0, &d));
    if (index < 0 || index >= tensor->shape.dim[d])
        return acui_fail(ACU_ERR_SHAPE, "%s has no index %" PRId64 " in dimension %d",
                         acui_tensor_words(tensor, words), index, d);
    layout v = layout_of(tensor);
    ACUI_TRY(slice_dimension(&v, d, index, index + 1, 1));
    remove_dimension(&v, d);
    return make(tensor, &v, view);
}

/* ---- dimensions ------------------------------------------------------------------------------ */

acu_status acu_tensor_squeeze(acu_tensor *tensor, int dimension, acu_tensor **view)
{
    char words[96];
    int d;
    ACUI_TRY(check(tensor, view, __func__));
    ACUI_TRY(check_dimension(tensor, dimension, 0, &d));
    if (tensor->shape.dim[d] != 1)
        return acui_fail(ACU_ERR_SHAPE, "dimension %d of %s can not be dropped: it has %" PRId64
                                        " elements",
                         d, acui_tensor_words(tensor, words), tensor->shape.dim[d]);
    layout v = layout_of(tensor);
    remove_dimension(&v, d);
    return make(tensor, &v, view);
}

acu_status acu_tensor_unsqueeze(acu_tensor *tensor, int dimension, acu_tensor **view)
{
    char words[96];
    int place;
    ACUI_TRY(check(tensor, view, __func__));
    ACUI_TRY(check_dimension(tensor, dimension, 1, &place));
    layout v = layout_of(tensor);
    if (v.shape.rank == ACU_MAX_RANK)
        return acui_fail(ACU_ERR_SHAPE, "%s has %d dimensions, the most there are",
                         acui_tensor_words(tensor, words), ACU_MAX_RANK);
    for (int d = v.shape.rank; d > place; d--) {
        v.shape.dim[d] = v.shape.dim[d - 1];
        v.strides[d] = v.strides[d - 1];
    }
    v.strides[place] = 1; /* never used */
    v.shape.dim[place] = 1;
    v.shape.rank++;
    if (tensor->dense)
        acui_dense_strides(v.shape, v.strides);
    return make(tensor, &v, view);
}

acu_status acu_tensor_permute(acu_tensor *tensor, const int *order, acu_tensor **view)
{
    char words[96];
    ACUI_TRY(check(tensor, view, __func__));
    if (!order && tensor->shape.rank)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_permute: the order is NULL");
    layout from = layout_of(tensor), v = from;
    unsigned seen = 0;
    for (int d = 0; d < v.shape.rank; d++) {
        int source;
        ACUI_TRY(check_dimension(tensor, order[d], 0, &source));
        if (seen >> source & 1u)
            return acui_fail(ACU_ERR_SHAPE,
                             "an order of the dimensions of %s in which %d comes twice",
                             acui_tensor_words(tensor, words), source);
        seen |= 1u << source;
        v.shape.dim[d] = from.shape.dim[source];
        v.strides[d] = from.strides[source];
    }
    return make(tensor, &v, view);
}

acu_status acu_tensor_transpose(acu_tensor *tensor, int a, int b, acu_tensor **view)
{
    ACUI_TRY(check(tensor, view, __func__));
    ACUI_TRY(check_dimension(tensor, a, 0, &a));
    ACUI_TRY(check_dimension(tensor, b, 0, &b));
    int order[ACU_MAX_RANK];
    for (int d = 0; d < tensor->shape.rank; d++)
        order[d] = d == a ? b : d == b ? a : d;
    return acu_tensor_permute(tensor, order, view);
}

acu_status acu_tensor_broadcast_to(acu_tensor *tensor, acu_shape shape, acu_tensor **view)
{
    char words[96], to[96];
    ACUI_TRY(check(tensor, view, __func__));
    ACUI_TRY(acui_shape_check(shape, tensor->dtype, NULL));
    layout v = layout_of(tensor);
    int more = shape.rank - tensor->shape.rank;
    bool fits = more >= 0;
    for (int d = 0; d < shape.rank && fits; d++) {
        bool repeated = d < more || tensor->shape.dim[d - more] != shape.dim[d];
        fits = d < more || !repeated || tensor->shape.dim[d - more] == 1;
        v.strides[d] = repeated || !fits ? 0 : tensor->strides[d - more];
    }
    if (!fits)
        return acui_fail(ACU_ERR_SHAPE,
                         "%s can not be broadcast to %s: from the last dimension on, "
                         "each is as long or has one element",
                         acui_tensor_words(tensor, words), acui_shape_words(shape, to));
    v.shape = shape;
    return make(tensor, &v, view);
}

/* ---- shape ----------------------------------------------------------------------------------- */

/* Replaces the one extent that is -1, so that there are `elements` in all. */
static acu_status infer_extent(const acu_tensor *tensor, acu_shape *shape)
{
    char words[96], to[96];
    int64_t known = 1, elements = acu_shape_elements(tensor->shape);
    int open = -1;
    for (int d = 0; d < shape->rank && d < ACU_MAX_RANK; d++)
        if (shape->dim[d] == ACU_REST && open >= 0)
            return acui_fail(ACU_ERR_SHAPE, "shape %s: one extent may be ACU_REST (-1), not two",
                             acui_shape_words(*shape, to));
        else if (shape->dim[d] == ACU_REST)
            open = d;
        else if (shape->dim[d] < 0 || __builtin_mul_overflow(known, shape->dim[d], &known))
            return ACU_OK; /* the shape is refused later */
    if (open < 0)
        return ACU_OK;
    if (known == 0)
        return acui_fail(ACU_ERR_SHAPE, "shape %s: beside an extent of 0, any number could take "
                                        "the place of ACU_REST (-1)",
                         acui_shape_words(*shape, to));
    if (elements % known)
        return acui_fail(ACU_ERR_SHAPE, "%s has %" PRId64 " elements, which %s does not divide",
                         acui_tensor_words(tensor, words), elements, acui_shape_words(*shape, to));
    shape->dim[open] = elements / known;
    return ACU_OK;
}

/*
 * Finds strides with which `shape`, of the same number of elements, visits the elements of `from`
 * in the same order. Both shapes are walked side by side, in the smallest groups of dimensions with
 * equally many elements. Each group of the old ones must lie in memory like a single dimension.
 * False if one does not.
 */
static bool regroup(const layout *from, layout *to)
{
    const int64_t *old = from->shape.dim, *new = to->shape.dim;
    int o = 0, n = 0;
    while (n < to->shape.rank) { /* equally many elements: neither walk leaves its shape */
        int64_t want = new[n], have = 1, stride = 1;
        int last = n; /* the last new dimension in this group */
        while (want != have) {
            if (have < want) {
                if (old[o] > 1 && have > 1 && stride != old[o] * from->strides[o])
                    return false;
                stride = old[o] > 1 ? from->strides[o] : stride;
                have *= old[o++];
            } else {
                want *= new[++last];
            }
        }
        for (int d = last; d >= n; d--) {
            to->strides[d] = stride;
            stride *= new[d];
        }
        n = last + 1;
    }
    return true;
}

acu_status acu_tensor_reshape(acu_tensor *tensor, acu_shape shape, acu_tensor **view)
{
    char from[96], to[96];
    ACUI_TRY(check(tensor, view, __func__));
    ACUI_TRY(infer_extent(tensor, &shape));
    ACUI_TRY(acui_shape_check(shape, tensor->dtype, NULL));
    if (acu_shape_elements(shape) != acu_shape_elements(tensor->shape))
        return acui_fail(ACU_ERR_SHAPE, "%s has %" PRId64 " elements, %s has %" PRId64,
                         acui_shape_words(tensor->shape, from), acu_shape_elements(tensor->shape),
                         acui_shape_words(shape, to), acu_shape_elements(shape));
    layout old = layout_of(tensor), v = old;
    v.shape = shape;
    if (tensor->dense)
        acui_dense_strides(shape, v.strides);
    else if (!regroup(&old, &v))
        return acui_fail(ACU_ERR_SHAPE,
                         "%s lies in memory with gaps, and can not be seen as %s: copy it first "
                         "(acu_dup)",
                         acui_tensor_words(tensor, from), acui_shape_words(shape, to));
    return make(tensor, &v, view);
}

acu_status acu_tensor_flatten(acu_tensor *tensor, acu_tensor **view)
{
    ACUI_TRY(check(tensor, view, __func__));
    return acu_tensor_reshape(tensor, ACU_SHAPE(acu_shape_elements(tensor->shape)), view);
}

/* ---- element type ---------------------------------------------------------------------------- */

/* For elements of another size: the last dimension gets more or fewer of them. */
static bool resize(layout *v, size_t from, size_t to)
{
    int last = v->shape.rank - 1;
    if (last < 0)
        return false;
    int64_t more = from > to ? (int64_t)(from / to) : 1,
            fewer = to > from ? (int64_t)(to / from) : 1;
    if (v->shape.dim[last] != 1 && v->strides[last] != 1)
        return false;
    if (v->shape.dim[last] % fewer)
        return false;
    for (int d = 0; d < last; d++) {
        if (v->shape.dim[d] == 1) /* never used, and might not fit */
            continue;
        if (v->strides[d] % fewer)
            return false;
        v->strides[d] = v->strides[d] * more / fewer;
    }
    v->shape.dim[last] = v->shape.dim[last] * more / fewer;
    v->strides[last] = 1;
    return true;
}

acu_status acu_tensor_reinterpret(acu_tensor *tensor, acu_dtype dtype, acu_tensor **view)
{
    char words[96];
    ACUI_TRY(check(tensor, view, __func__));
    size_t from = acu_dtype_bytes(tensor->dtype), to = acu_dtype_bytes(dtype);
    if (to == 0)
        return acui_fail(ACU_ERR_DTYPE, "%d is no element type", (int)dtype);
    layout v = layout_of(tensor);
    v.dtype = dtype;
    if (from != to && !resize(&v, from, to))
        return acui_fail(
            ACU_ERR_SHAPE,
            "%s can not be seen as %s: elements of %zu bytes become ones of %zu in the "
            "last dimension, which has to be contiguous and of as many bytes",
            acui_tensor_words(tensor, words), acu_dtype_name(dtype), from, to);
    uint64_t start = acui_buffer_base(tensor->buffer) + v.offset;
    if (start % to)
        return acui_fail(ACU_ERR_INVALID,
                         "%s can not be seen as %s: it starts %zu bytes behind a "
                         "multiple of %zu",
                         acui_tensor_words(tensor, words), acu_dtype_name(dtype),
                         (size_t)(start % to), to);
    return make(tensor, &v, view);
}
