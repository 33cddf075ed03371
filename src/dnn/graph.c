/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Descriptors of cuDNN's backend API, and what all operation graphs are made of. */
#include "dnn/plan.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool has_room(acui_dnn_set *set)
{
    if (set->count < set->room)
        return true;
    size_t room = set->room ? 2 * set->room : 32;
    acui_cudnn_desc *all = acui_alloc(room * sizeof(acui_cudnn_desc));
    if (!all) {
        set->status = acui_fail(ACU_ERR_NO_MEMORY, "no memory for a plan of cuDNN");
        return false;
    }
    for (size_t i = 0; i < set->count; i++)
        all[i] = set->all[i];
    acui_free(set->all);
    set->all = all;
    set->room = room;
    return true;
}

acui_cudnn_desc acui_dnn_new(acui_dnn_set *set, int type)
{
    acui_cudnn_desc d = NULL;
    if (set->status != ACU_OK || !has_room(set))
        return NULL;
    set->status = acui_cudnn_said("cudnnBackendCreateDescriptor", acui_cudnn.new_desc(type, &d));
    if (set->status != ACU_OK)
        return NULL;
    set->all[set->count++] = d;
    return d;
}

void acui_dnn_put(acui_dnn_set *set, acui_cudnn_desc d, int name, int type, int64_t count,
                  const void *values)
{
    if (set->status == ACU_OK)
        set->status = acui_cudnn_said("cudnnBackendSetAttribute",
                                      acui_cudnn.set(d, name, type, count, values));
}

void acui_dnn_finish(acui_dnn_set *set, acui_cudnn_desc d)
{
    if (set->status == ACU_OK)
        set->status = acui_cudnn_said("cudnnBackendFinalize", acui_cudnn.finalize(d));
}

/* Each before those that it was made of. */
void acui_dnn_end_after(acui_dnn_set *set, size_t count)
{
    while (set->count > count)
        acui_cudnn.end_desc(set->all[--set->count]);
}

void acui_dnn_end_set(acui_dnn_set *set)
{
    acui_dnn_end_after(set, 0);
    acui_free(set->all);
    memset(set, 0, sizeof *set);
}

void acui_dnn_put_int(acui_dnn_set *set, acui_cudnn_desc d, int name, int64_t value)
{
    acui_dnn_put(set, d, name, ACUI_CUDNN_INT64, 1, &value);
}

void acui_dnn_put_type(acui_dnn_set *set, acui_cudnn_desc d, int name, int type)
{
    acui_dnn_put(set, d, name, ACUI_CUDNN_DATA_TYPE, 1, &type);
}

void acui_dnn_put_desc(acui_dnn_set *set, acui_cudnn_desc d, int name, acui_cudnn_desc value)
{
    acui_dnn_put(set, d, name, ACUI_CUDNN_DESCRIPTOR, 1, &value);
}

/* ---- tensors --------------------------------------------------------------------------------- */

enum { TENSOR = 17, ALIGN = 900, TYPE, DIMS, STRIDES, ID = 906, VIRTUAL, BY_VALUE };

acui_cudnn_desc acui_dnn_tensor_of(acui_dnn_set *set, const acui_dnn_tensor *t, int rank, int type,
                                   int align, int64_t id, acui_dnn_where where)
{
    static const bool yes = true;
    acui_cudnn_desc d = acui_dnn_new(set, TENSOR);
    acui_dnn_put_type(set, d, TYPE, type);
    acui_dnn_put(set, d, DIMS, ACUI_CUDNN_INT64, rank, t->dim);
    acui_dnn_put(set, d, STRIDES, ACUI_CUDNN_INT64, rank, t->stride);
    acui_dnn_put_int(set, d, ID, id);
    acui_dnn_put_int(set, d, ALIGN, align);
    if (where != ACUI_DNN_REAL)
        acui_dnn_put(set, d, where == ACUI_DNN_VIRTUAL ? VIRTUAL : BY_VALUE, ACUI_CUDNN_BOOLEAN, 1,
                     &yes);
    acui_dnn_finish(set, d);
    return d;
}

/* ---- operations ------------------------------------------------------------------------------ */

enum { POINTWISE = 0, POINTWISE_OP = 13, MODE = 0, PRECISION, AXIS = 9 };
enum { WITH = 750, OF, AND, TO, WHERE = 758 };

acui_cudnn_desc acui_dnn_pointwise(acui_dnn_set *set, int mode, int precision, acui_cudnn_desc of,
                                   acui_cudnn_desc and, acui_cudnn_desc where, acui_cudnn_desc to,
                                   int axis)
{
    acui_cudnn_desc how = acui_dnn_new(set, POINTWISE);
    acui_dnn_put(set, how, MODE, ACUI_CUDNN_POINTWISE_MODE, 1, &mode);
    acui_dnn_put_type(set, how, PRECISION, precision);
    if (axis >= 0)
        acui_dnn_put_int(set, how, AXIS, axis);
    acui_dnn_finish(set, how);
    acui_cudnn_desc d = acui_dnn_new(set, POINTWISE_OP);
    acui_dnn_put_desc(set, d, WITH, how);
    acui_dnn_put_desc(set, d, OF, of);
    if (and)
        acui_dnn_put_desc(set, d, AND, and);
    if (where)
        acui_dnn_put_desc(set, d, WHERE, where);
    acui_dnn_put_desc(set, d, TO, to);
    acui_dnn_finish(set, d);
    return d;
}

acui_cudnn_desc acui_dnn_graph_of(acui_dnn_set *set, acui_cudnn_handle handle,
                                  const acui_cudnn_desc *ops, int64_t count)
{
    enum { GRAPH = 15, HANDLE = 800, OPS };
    acui_cudnn_desc graph = acui_dnn_new(set, GRAPH);
    acui_dnn_put(set, graph, HANDLE, ACUI_CUDNN_HANDLE, 1, &handle);
    acui_dnn_put(set, graph, OPS, ACUI_CUDNN_DESCRIPTOR, count, ops);
    acui_dnn_finish(set, graph);
    return set->status == ACU_OK ? graph : NULL;
}
