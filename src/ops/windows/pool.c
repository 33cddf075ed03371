/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pooling and interpolation: a thread for each element of the result. */
#include "ops/windows/windows.h"

_Static_assert((int)ACU_POOL_MAX == ACUI_POOL_MAX && (int)ACU_POOL_MEAN == ACUI_POOL_MEAN &&
                   (int)ACU_INTERPOLATE_LINEAR == ACUI_INTERPOLATE_LINEAR, "kinds in kernels");

typedef struct request {
    int kind;
    acu_shape shape; /* the window, or what x is made to be */
    acu_window_options o;
} request;

static acu_op *refuse(acu_planning *p, const char *name, const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s of %s: %s", name,
                       acui_value_words(&p->values[0], words), why);
}

static acu_op *launch(acu_planning *p, const char *name, acui_pool *params, acu_shape shape)
{
    const acu_tensor *x = p->values[0].tensor;
    params->dtype = (int)acu_tensor_dtype(x);
    params->elements = acu_shape_elements(shape); /* too many: the result says so */
    if (params->elements >= 0) {
        acui_window_strides(params->x, x, acu_tensor_shape(x));
        acui_window_strides(params->out, p->out.tensor, shape);
        acui_window_index(&params->all, shape);
    }
    acu_op *out = acui_result_apart(p, name, acu_tensor_dtype(x), shape);
    if (acu_op_status(out, NULL) != ACU_OK || params->elements < 0)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    bool wide = params->dtype == ACU_F64, pool = name[0] == 'p';
    const char *kernels[] = {"interpolate_f", "interpolate_d", "pool_f", "pool_d"};
    return acui_run(p, name, "acuda.pool", kernels[2 * pool + wide],
                    acui_blocks(params->elements, ACUI_BLOCK), args, 3);
}

/* ---- pooling --------------------------------------------------------------------------------- */

static acu_op *plan_pool(acu_planning *p)
{
    const request *r = p->data;
    const char *name = "pool";
    acu_op *failed = NULL;
    acu_shape shape;
    acui_pool params = {.kind = r->kind};
    acu_window_options o = r->o;
    const acu_tensor *x = acui_window_operand(p, name, &failed);
    if (!x)
        return failed;
    if (r->shape.rank != acu_tensor_shape(x).rank - 2)
        return refuse(p, name, "the window needs as many dimensions as lie behind the channels");
    for (int d = 0; d < r->shape.rank; d++) {
        o.stride[d] = o.stride[d] ? o.stride[d] : r->shape.dim[d];
        if (2 * o.padding[d] > r->shape.dim[d])
            return refuse(p, name, "the padding is more than half of the window");
    }
    failed = acui_window_over(p, name, &params.at, &o, r->shape.dim, &shape);
    return failed ? failed : launch(p, name, &params, shape);
}

acu_op *acu_op_pool(acu_pooling kind, acu_op *x, acu_shape window,
                    const acu_window_options *options, acu_site site)
{
    request r = {.kind = (int)kind, .shape = window};
    acu_op *failed = acui_window_options("pool", options, &r.o, site);
    if (!failed && (unsigned)kind > ACU_POOL_MEAN_INSIDE)
        failed = acu_op_fail(ACU_ERR_INVALID, "pool", site, "pool of kind %d", (int)kind);
    if (!failed && r.o.groups != 1)
        failed = acu_op_fail(ACU_ERR_INVALID, "pool", site, "pool with groups of channels");
    if (failed) {
        acu_op_release(x);
        return failed;
    }
    acu_custom custom = {.name = "pool", .fn = plan_pool, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}

/* ---- interpolation --------------------------------------------------------------------------- */

static acu_op *plan_interpolate(acu_planning *p)
{
    const request *r = p->data;
    const char *name = "interpolate";
    acu_op *failed = NULL;
    acui_pool params = {.kind = r->kind};
    const acu_tensor *x = acui_window_operand(p, name, &failed);
    if (!x)
        return failed;
    acu_shape shape = acu_tensor_shape(x);
    int rank = shape.rank - 2;
    if (r->shape.rank != rank)
        return refuse(p, name, "the new shape needs as many dimensions as lie behind the channels");
    params.at.n[0] = params.at.out[0] = 1;
    for (int d = 0; d < rank; d++) {
        params.at.n[2 - rank + d] = shape.dim[2 + d];
        params.at.out[2 - rank + d] = shape.dim[2 + d] = r->shape.dim[d];
        if (r->shape.dim[d] < 1 || r->shape.dim[d] > INT32_MAX ||
            params.at.n[2 - rank + d] < 1 || params.at.n[2 - rank + d] > INT32_MAX)
            return refuse(p, name, "dimensions have from 1 to 2^31 - 1 elements");
    }
    return launch(p, name, &params, shape);
}

acu_op *acu_op_interpolate(acu_interpolation kind, acu_op *x, acu_shape to, acu_site site)
{
    request r = {.kind = (int)kind, .shape = to};
    if ((unsigned)kind > ACU_INTERPOLATE_LINEAR) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_INVALID, "interpolate", site, "interpolate of kind %d",
                           (int)kind);
    }
    acu_custom custom = {.name = "interpolate", .fn = plan_interpolate, .data = &r,
                         .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}
