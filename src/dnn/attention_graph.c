/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Attention as an operation graph: softmax(mask(scale q k')) v, in the pieces by which cuDNN's
 * fused engines know it. All between the operands and the result is virtual.
 */
#include "dnn/plan.h"

#include <float.h>
#include <math.h>

enum { ADD = 0, MUL = 1, DIV = 6, SUB = 9, EXP = 13, LOG = 15 }; /* pointwise modes */
enum { NOT_BELOW = 303, INDEX = 501, SELECT = 601 };
enum { ROWS = 2, COLUMNS = 3 }; /* dimensions of the scores */

typedef struct builder {
    acui_dnn_plan *plan;
    acui_dnn_set *set;
    const acui_dnn_key *key;
    acui_dnn_tensor scores, rows; /* [batch, heads, queries, keys], and of one key */
    int64_t id;
    acui_cudnn_desc ops[20];
    int64_t count;
} builder;

/* ---- tensors --------------------------------------------------------------------------------- */

static acui_dnn_tensor dense(int64_t batch, int64_t heads, int64_t rows, int64_t columns)
{
    return (acui_dnn_tensor){.dim = {batch, heads, rows, columns},
                             .stride = {heads * rows * columns, rows * columns, columns, 1}};
}

static acui_cudnn_desc real(builder *b, int place)
{
    acui_dnn_tensor t = b->key->at[place];
    if (place == ACUI_DNN_K) { /* as it is multiplied */
        t.dim[2] = b->key->at[place].dim[3];
        t.dim[3] = b->key->at[place].dim[2];
        t.stride[2] = b->key->at[place].stride[3];
        t.stride[3] = b->key->at[place].stride[2];
    }
    return acui_dnn_tensor_of(b->set, &t, 4, b->key->type, b->key->align, place + 1, ACUI_DNN_REAL);
}

static acui_cudnn_desc between(builder *b, const acui_dnn_tensor *t, int type)
{
    return acui_dnn_tensor_of(b->set, t, 4, type, b->key->align, b->id++, ACUI_DNN_VIRTUAL);
}

/* Set plan->scalar[] first. */
static acui_cudnn_desc scalar(builder *b, int type)
{
    acui_dnn_tensor one = dense(1, 1, 1, 1);
    return acui_dnn_tensor_of(b->set, &one, 4, type, 4, ACUI_DNN_SCALARS + b->plan->scalars++,
                              ACUI_DNN_BY_VALUE);
}

static acui_cudnn_desc real_scalar(builder *b, float value)
{
    b->plan->scalar[b->plan->scalars].real = value;
    return scalar(b, ACUI_CUDNN_F32);
}

static acui_cudnn_desc whole_scalar(builder *b, int64_t value)
{
    b->plan->scalar[b->plan->scalars].whole = (int32_t)value;
    return scalar(b, ACUI_CUDNN_I32);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void add(builder *b, acui_cudnn_desc op)
{
    b->ops[b->count++] = op;
}

static void multiply(builder *b, acui_cudnn_desc left, acui_cudnn_desc right, acui_cudnn_desc to)
{
    enum { MATMUL = 18, MATMUL_OP, PRECISION = 1500, LEFT = 1520, RIGHT, TO, HOW };
    acui_cudnn_desc how = acui_dnn_new(b->set, MATMUL);
    acui_dnn_put_type(b->set, how, PRECISION, ACUI_CUDNN_F32);
    acui_dnn_finish(b->set, how);
    acui_cudnn_desc d = acui_dnn_new(b->set, MATMUL_OP);
    acui_dnn_put_desc(b->set, d, HOW, how);
    acui_dnn_put_desc(b->set, d, LEFT, left);
    acui_dnn_put_desc(b->set, d, RIGHT, right);
    acui_dnn_put_desc(b->set, d, TO, to);
    acui_dnn_finish(b->set, d);
    add(b, d);
}

enum { SUM = 0, GREATEST = 3 };

static acui_cudnn_desc reduce(builder *b, int operator, acui_cudnn_desc x)
{
    enum { REDUCTION = 21, REDUCTION_OP, OPERATOR = 1600, PRECISION, OF = 1610, TO, HOW };
    acui_cudnn_desc to = between(b, &b->rows, ACUI_CUDNN_F32);
    acui_cudnn_desc how = acui_dnn_new(b->set, REDUCTION);
    acui_dnn_put(b->set, how, OPERATOR, ACUI_CUDNN_REDUCTION, 1, &operator);
    acui_dnn_put_type(b->set, how, PRECISION, ACUI_CUDNN_F32);
    acui_dnn_finish(b->set, how);
    acui_cudnn_desc d = acui_dnn_new(b->set, REDUCTION_OP);
    acui_dnn_put_desc(b->set, d, HOW, how);
    acui_dnn_put_desc(b->set, d, OF, x);
    acui_dnn_put_desc(b->set, d, TO, to);
    acui_dnn_finish(b->set, d);
    add(b, d);
    return to;
}

static acui_cudnn_desc pointwise(builder *b, int mode, acui_cudnn_desc x, acui_cudnn_desc y,
                                 int type, int precision)
{
    acui_cudnn_desc to = between(b, &b->scores, type);
    add(b, acui_dnn_pointwise(b->set, mode, precision, x, y, NULL, to, -1));
    return to;
}

/* Each element's row or column. */
static acui_cudnn_desc index_of(builder *b, acui_cudnn_desc x, int axis)
{
    acui_cudnn_desc to = between(b, &b->scores, ACUI_CUDNN_I32);
    add(b, acui_dnn_pointwise(b->set, INDEX, ACUI_CUDNN_F32, x, NULL, NULL, to, axis));
    return to;
}

/* The last query sees all keys, each query before it one key less. */
static acui_cudnn_desc mask(builder *b, acui_cudnn_desc x)
{
    int64_t queries = b->scores.dim[ROWS], keys = b->scores.dim[COLUMNS];
    acui_cudnn_desc row = index_of(b, x, ROWS), column = index_of(b, x, COLUMNS);
    if (queries != keys) {
        row = pointwise(b, ADD, row, whole_scalar(b, keys), ACUI_CUDNN_I32, ACUI_CUDNN_I32);
        row = pointwise(b, SUB, row, whole_scalar(b, queries), ACUI_CUDNN_I32, ACUI_CUDNN_I32);
    }
    acui_cudnn_desc seen = pointwise(b, NOT_BELOW, row, column, ACUI_CUDNN_BOOL, ACUI_CUDNN_BOOL);
    acui_cudnn_desc to = between(b, &b->scores, ACUI_CUDNN_F32);
    acui_cudnn_desc nothing = real_scalar(b, acui_library_CUDNN.version < 91000 ? -FLT_MAX
                                                                                : -INFINITY);
    add(b, acui_dnn_pointwise(b->set, SELECT, ACUI_CUDNN_F32, x, nothing, seen, to, -1));
    return to;
}

/* The logarithm of the sum, which nobody reads: the engines know softmax only with it. */
static void add_statistics(builder *b, acui_cudnn_desc most, acui_cudnn_desc sum)
{
    acui_cudnn_desc log = between(b, &b->rows, ACUI_CUDNN_F32);
    acui_cudnn_desc to = between(b, &b->rows, ACUI_CUDNN_F32);
    add(b, acui_dnn_pointwise(b->set, LOG, ACUI_CUDNN_F32, sum, NULL, NULL, log, -1));
    add(b, acui_dnn_pointwise(b->set, ADD, ACUI_CUDNN_F32, most, log, NULL, to, -1));
}

/* The weights, in the dtype of what they are multiplied with. */
static acui_cudnn_desc softmax(builder *b, acui_cudnn_desc x)
{
    acui_cudnn_desc most = reduce(b, GREATEST, x);
    x = pointwise(b, SUB, x, most, ACUI_CUDNN_F32, ACUI_CUDNN_F32);
    x = pointwise(b, EXP, x, NULL, ACUI_CUDNN_F32, ACUI_CUDNN_F32);
    acui_cudnn_desc sum = reduce(b, SUM, x);
    add_statistics(b, most, sum);
    return pointwise(b, DIV, x, sum, b->key->type, ACUI_CUDNN_F32);
}

acui_cudnn_desc acui_dnn_attention_graph(acui_dnn_plan *plan, const acui_dnn_key *key)
{
    const int64_t *q = key->at[ACUI_DNN_Q].dim;
    builder b = {.plan = plan, .set = &plan->set, .key = key, .id = ACUI_DNN_PLACES + 1};
    b.scores = dense(q[0], q[1], q[2], key->at[ACUI_DNN_K].dim[2]);
    b.rows = dense(q[0], q[1], q[2], 1);
    acui_cudnn_desc x = between(&b, &b.scores, ACUI_CUDNN_F32);
    plan->scalars = 0;
    multiply(&b, real(&b, ACUI_DNN_Q), real(&b, ACUI_DNN_K), x);
    /* The first scalar: each call sets its own scale (plan.c). */
    x = pointwise(&b, MUL, x, real_scalar(&b, 1), ACUI_CUDNN_F32, ACUI_CUDNN_F32);
    if (key->causal)
        x = mask(&b, x);
    multiply(&b, softmax(&b, x), real(&b, ACUI_DNN_V), real(&b, ACUI_DNN_O));
    return acui_dnn_graph_of(b.set, plan->handle, b.ops, b.count);
}
