/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Attention by cuDNN as an operation: shapes, checked before cuDNN is asked for a plan; by acuda's
 * own kernel where there is no cuDNN. */
#include "dnn/layer.h"

#include "base/options.h"
#include "memory/memory.h"

#include <acuda/attention.h>
#include <acuda/dnn.h>

#include <limits.h>
#include <math.h>
#include <string.h>

static const char name[] = "dnn_attention";

enum { Q, K, V, OPERANDS };
enum { BATCH, HEADS, ROWS, WIDTH, RANK };

typedef struct planned {
    acui_layer layer;
    const acu_attention_options *o;
    acu_shape at[OPERANDS];
} planned;

static acu_op *refuse(const planned *x, size_t operand, const char *why)
{
    return acui_layer_refuse(&x->layer, ACU_ERR_SHAPE, operand, why);
}

static acu_op *check_shapes(planned *x)
{
    const acu_shape *q = &x->at[Q], *k = &x->at[K];
    for (size_t i = 0; i < OPERANDS; i++) {
        x->at[i] = acu_tensor_shape(x->layer.p->values[i].tensor);
        if (x->at[i].rank != RANK)
            return refuse(x, i, "it must be [batch, heads, rows, width]");
    }
    if (!acu_shape_equal(*k, x->at[V]))
        return refuse(x, V, "it must have the shape of k (operand 1)");
    if (q->dim[BATCH] != k->dim[BATCH] || q->dim[WIDTH] != k->dim[WIDTH] ||
        q->dim[HEADS] % k->dim[HEADS] != 0)
        return refuse(x, K, "it must have the batch and the width of q (operand 0), whose heads "
                            "must be a multiple of its own");
    if (q->dim[WIDTH] % 8 != 0 || q->dim[WIDTH] > 256)
        return refuse(x, Q, "the width must be a multiple of 8, and at most 256");
    if (x->o->causal && q->dim[ROWS] > k->dim[ROWS])
        return refuse(x, Q, "causal attention of more queries than keys leaves some without any: "
                            "acu_attention has that");
    return NULL;
}

static acu_op *check(planned *x)
{
    acui_layer *l = &x->layer;
    acu_op *failed = acui_layer_check(l, OPERANDS);
    if (failed)
        return failed;
    if (l->dtype != ACU_F16 && l->dtype != ACU_BF16)
        return acui_layer_refuse(l, ACU_ERR_DTYPE, 0, "it must be f16 or bf16");
    return check_shapes(x);
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* Any strides will do, as long as each row lies together and begins at a multiple of 16 bytes. */
static bool is_ready(const acu_tensor *t)
{
    CUdeviceptr at = acu_buffer_address(t->buffer) + t->offset;
    acu_shape shape = acu_tensor_shape(t);
    const int64_t *stride = acu_tensor_strides(t);
    bool ready = at % 16 == 0 && (stride[WIDTH] == 1 || shape.dim[WIDTH] == 1);
    for (int i = 0; i < WIDTH; i++)
        ready = ready && (shape.dim[i] == 1 || (stride[i] % 8 == 0 && stride[i] > 0));
    return ready;
}

/* Describe the tensor, or a dense one of this shape. */
static void describe(planned *x, int place, acu_shape shape, const acu_tensor *t)
{
    acui_dnn_tensor *d = &x->layer.dnn.key.at[place];
    acui_layer_describe(&x->layer, place, shape);
    for (int i = 0; t && i < RANK; i++)
        if (shape.dim[i] != 1)
            d->stride[i] = acu_tensor_strides(t)[i];
}

static void add(planned *x, int place, acu_op *op, acu_access access)
{
    acui_layer *l = &x->layer;
    l->dnn.place[place] = (int8_t)l->count;
    l->args[l->count++] = acu_arg_op(op, access);
}

static void read_operand(planned *x, int place, size_t operand)
{
    acu_planning *p = x->layer.p;
    const acu_tensor *t = p->values[operand].tensor;
    bool ready = is_ready(t);
    describe(x, place, x->at[operand], ready ? t : NULL);
    acu_op *op = acu_op_take(&p->values[operand], p->site);
    add(x, place, ready ? op : acu_op_dup(op, p->site), ACU_READ);
}

static acu_op *write_result(planned *x)
{
    acui_layer *l = &x->layer;
    const acu_tensor *t = l->p->out.tensor;
    bool ready = t && is_ready(t);
    describe(x, ACUI_DNN_O, x->at[Q], NULL);
    if (ready && acu_shape_equal(acu_tensor_shape(t), x->at[Q]))
        describe(x, ACUI_DNN_O, x->at[Q], t);
    acu_op *out = acui_result_apart(l->p, name, l->dtype, x->at[Q]);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    if (t && !ready) {
        l->out = out;
        out = acu_op_empty(l->dtype, x->at[Q], l->p->site);
    }
    add(x, ACUI_DNN_O, out, ACU_WRITE);
    return NULL;
}

/* ---- the op ---------------------------------------------------------------------------------- */

static acu_op *plan(acu_planning *p)
{
    planned x;
    memset(&x, 0, sizeof x);
    x.o = p->data;
    x.layer.p = p;
    x.layer.name = name;
    acu_op *failed = check(&x);
    if (failed)
        return failed;
    if (!acui_layer_by_cudnn(p->device)) {
        acu_op *ops[OPERANDS];
        for (int i = 0; i < OPERANDS; i++)
            ops[i] = acu_op_take(&p->values[i], p->site);
        return acui_into(p, acu_op_attention(ops[Q], ops[K], ops[V], x.o, p->site));
    }
    acui_dnn_key *k = &x.layer.dnn.key;
    x.layer.last = false;
    k->kind = ACUI_DNN_ATTENTION;
    x.layer.dnn.scale = x.o->scale == 0 ? 1 / sqrt((double)x.at[Q].dim[WIDTH]) : x.o->scale;
    k->causal = x.o->causal;
    k->most_bytes = (uint64_t)1 << 30;
    failed = write_result(&x);
    if (failed)
        return failed;
    read_operand(&x, ACUI_DNN_Q, Q);
    read_operand(&x, ACUI_DNN_K, K);
    read_operand(&x, ACUI_DNN_V, V);
    return acui_layer_call(&x.layer, 1);
}

acu_op *acu_op_dnn_attention(acu_op *q, acu_op *k, acu_op *v, const acu_attention_options *options,
                             acu_site site)
{
    acu_attention_options o = {.size = sizeof o};
    acu_status st = options ? acui_options_read(&o, sizeof o, options, name) : ACU_OK;
    acu_op *const ops[] = {q, k, v};
    acu_op *failed = NULL;
    if (st != ACU_OK)
        failed = acu_op_fail(st, name, site, NULL);
    else if (!(o.scale >= 0 && o.scale < 1e30))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "%s: the scale is %g, and must be 0 or "
                             "more", name, o.scale);
    o.size = sizeof o;
    if (!failed)
        return acu_op_custom((acu_custom){.name = name, .fn = plan, .data = &o, .bytes = sizeof o},
                             ops, OPERANDS, site);
    for (int i = 0; i < OPERANDS; i++)
        acu_op_release(ops[i]);
    return failed;
}
