/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What operations with a window share: options, and how many places a window has. */
#include "ops/windows/windows.h"

#include "base/options.h"

#include <inttypes.h>
#include <stdio.h>

const acu_tensor *acui_window_operand(acu_planning *p, const char *name, acu_op **failed)
{
    char words[ACUI_OPS_WORDS];
    const acu_tensor *x = acui_number_operand(p, name, 0, failed);
    if (!x)
        return NULL;
    int rank = acu_tensor_shape(x).rank;
    if (acu_dtype_kind_of(acu_tensor_dtype(x)) != ACU_KIND_FLOAT)
        *failed = acu_op_fail(ACU_ERR_DTYPE, name, p->site, "%s takes floating point, not %s", name,
                              acui_value_words(&p->values[0], words));
    else if (rank != 3 && rank != 4)
        *failed = acu_op_fail(ACU_ERR_SHAPE, name, p->site,
                              "%s takes [batch, channels, length] or [batch, channels, height, "
                              "width], not %s",
                              name, acui_value_words(&p->values[0], words));
    else
        return x;
    return NULL;
}

static acu_op *refuse(const char *name, const char *what, int64_t number, acu_site site)
{
    return acu_op_fail(ACU_ERR_INVALID, name, site, "%s with options.%s %" PRId64, name, what,
                       number);
}

acu_op *acui_window_options(const char *name, const acu_window_options *given,
                            acu_window_options *o, acu_site site)
{
    acu_status status = acui_options_read(o, sizeof *o, given, name);
    if (status != ACU_OK)
        return acu_op_fail(status, name, site, NULL);
    for (int d = 0; d < 2; d++) {
        if (o->stride[d] < 0 || o->stride[d] > INT32_MAX)
            return refuse(name, "stride", o->stride[d], site);
        if (o->padding[d] < 0 || o->padding[d] > INT32_MAX)
            return refuse(name, "padding", o->padding[d], site);
        if (o->dilation[d] < 0 || o->dilation[d] > INT32_MAX)
            return refuse(name, "dilation", o->dilation[d], site);
    }
    if (o->groups < 0)
        return refuse(name, "groups", o->groups, site);
    o->groups = o->groups ? o->groups : 1;
    return NULL;
}

static acu_op *refuse_place(acu_planning *p, const char *name, const int64_t *window, int rank,
                            const char *why)
{
    char of[ACUI_OPS_WORDS], second[32] = "";
    if (rank == 2)
        snprintf(second, sizeof second, ", %" PRId64, window[1]);
    return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s of %s by a window [%" PRId64 "%s]: %s",
                       name, acui_value_words(&p->values[0], of), window[0], second, why);
}

acu_op *acui_window_over(acu_planning *p, const char *name, acui_window *w,
                         const acu_window_options *o, const int64_t *window, acu_shape *shape)
{
    *shape = acu_tensor_shape(p->values[0].tensor);
    int rank = shape->rank - 2;
    for (int d = 0; d < 2; d++)
        w->n[d] = w->out[d] = w->window[d] = w->stride[d] = w->dilation[d] = 1, w->padding[d] = 0;
    if (rank == 1 && (o->stride[1] || o->padding[1] || o->dilation[1]))
        return refuse_place(p, name, window, rank,
                            "options for a second dimension, which there is not");
    for (int d = 0, at = 2 - rank; d < rank; d++, at++) {
        w->n[at] = shape->dim[2 + d];
        w->window[at] = window[d];
        w->stride[at] = o->stride[d] ? o->stride[d] : 1;
        w->padding[at] = o->padding[d];
        w->dilation[at] = o->dilation[d] ? o->dilation[d] : 1;
        if (window[d] < 1 || window[d] > INT32_MAX)
            return refuse_place(p, name, window, rank, "a window has from 1 to 2^31 - 1 elements");
        if (w->n[at] == 0)
            return refuse_place(p, name, window, rank, "a dimension of it has no elements");
        int64_t room = w->n[at] + 2 * w->padding[at] - w->dilation[at] * (window[d] - 1) - 1;
        if (room < 0)
            return refuse_place(p, name, window, rank,
                                "the window does not fit into what there is, with its padding");
        shape->dim[2 + d] = w->out[at] = room / w->stride[at] + 1;
    }
    return NULL;
}

void acui_window_strides(long long stride[4], const acu_tensor *tensor, acu_shape shape)
{
    int64_t dense = 1;
    stride[2] = 0;
    for (int d = shape.rank - 1; d >= 0; d--) {
        int at = d < 2 ? d : d + 4 - shape.rank;
        stride[at] = tensor ? acu_tensor_strides(tensor)[d] : dense;
        dense *= shape.dim[d];
    }
}

void acui_window_index(acui_index *index, acu_shape shape)
{
    const int64_t dims[] = {shape.dim[0], shape.dim[1], shape.rank == 4 ? shape.dim[2] : 1,
                            shape.dim[shape.rank - 1]};
    acui_index_make(index, 4, dims);
}
