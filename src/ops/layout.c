/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Shapes and strides of operands: broadcasting, merging dimensions, preparing division by them, and
 * overlap.
 */
#include "ops/ops.h"

#include "memory/memory.h"

#include <string.h>

bool acui_broadcast(acu_shape *shape, acu_shape with)
{
    acu_shape wide = with.rank > shape->rank ? with : *shape;
    acu_shape narrow = with.rank > shape->rank ? *shape : with;
    int shift = wide.rank - narrow.rank;
    for (int d = 0; d < narrow.rank; d++) {
        int64_t a = wide.dim[shift + d], b = narrow.dim[d];
        if (a != b && a != 1 && b != 1)
            return false;
        wide.dim[shift + d] = a == 1 ? b : a;
    }
    *shape = wide;
    return true;
}

/* n / dim is (n + the high half of n * magic) >> shift, for n below 2^31. */
static void set_division(acui_index *index, int d)
{
    uint64_t dim = (uint64_t)index->dim[d];
    unsigned shift = 0;
    if (index->wide || dim > INT32_MAX || dim == 0)
        return; /* the kernel divides by dim itself; or, without elements, never does */
    while (((uint64_t)1 << shift) < dim)
        shift++;
    index->shift[d] = shift;
    index->magic[d] = (unsigned)(((((uint64_t)1 << shift) - dim) << 32) / dim + 1);
}

void acui_index_make(acui_index *index, int rank, const int64_t *dims)
{
    int64_t elements = 1;
    index->rank = rank;
    for (int d = 0; d < rank; d++)
        elements *= index->dim[d] = dims[d];
    index->wide = elements > INT32_MAX;
    for (int d = 0; d < rank; d++)
        set_division(index, d);
}

/* The tensor's stride along dimension d of `shape`; 0 where it is broadcast. */
static int64_t stride_of(const acu_tensor *tensor, acu_shape shape, int d)
{
    acu_shape own = acu_tensor_shape(tensor);
    int place = d - (shape.rank - own.rank);
    return place < 0 || own.dim[place] == 1 ? 0 : acu_tensor_strides(tensor)[place];
}

static int64_t dense_stride(acu_shape shape, int d)
{
    int64_t stride = 1;
    while (++d < shape.rank)
        stride *= shape.dim[d];
    return stride;
}

void acui_layout(acui_index *index, acui_operand *at, acu_shape shape,
                 const acu_tensor *const *tensors, int count)
{
    int64_t dims[ACUI_RANK];
    int rank = 0;
    for (int d = 0; d < shape.rank; d++) {
        int64_t strides[ACUI_OPERANDS];
        if (shape.dim[d] == 1)
            continue;
        bool joins = rank > 0;
        for (int k = 0; k < count; k++) {
            strides[k] = tensors[k] ? stride_of(tensors[k], shape, d)
                         : k == 0   ? dense_stride(shape, d)
                                    : 0;
            joins = joins && at[k].stride[rank - 1] == strides[k] * shape.dim[d];
        }
        if (!joins)
            dims[rank++] = 1;
        dims[rank - 1] *= shape.dim[d];
        for (int k = 0; k < count; k++)
            at[k].stride[rank - 1] = strides[k];
    }
    if (rank == 0) { /* one element */
        dims[rank++] = 1;
        for (int k = 0; k < count; k++)
            at[k].stride[0] = 1;
    }
    acui_index_make(index, rank, dims);
}

bool acui_is_linear(const acui_index *index, const acui_operand *at, int count)
{
    bool linear = index->rank == 1;
    for (int k = 0; k < count; k++)
        linear = linear && (at[k].is_scalar || at[k].stride[0] == 1);
    return linear;
}

/* ---- overlap --------------------------------------------------------------------------------- */

bool acui_same_place(const acu_tensor *a, const acu_tensor *b)
{
    acu_shape shape = acu_tensor_shape(a);
    if (acu_tensor_offset(a) != acu_tensor_offset(b) ||
        acu_tensor_dtype(a) != acu_tensor_dtype(b) || !acu_shape_equal(shape, acu_tensor_shape(b)))
        return false;
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] > 1 && acu_tensor_strides(a)[d] != acu_tensor_strides(b)[d])
            return false;
    return true;
}

bool acui_overlaps(const acu_tensor *out, const acu_tensor *in)
{
    return acui_tensors_overlap(out, in) && !acui_same_place(out, in);
}
