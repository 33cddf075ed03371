/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of different shapes as one operation: what each takes, checked before cuBLAS is called
 * (calls.c). */
#include "blas/blas.h"

#include "base/alloc.h"
#include "base/error.h"
#include "ops/ops.h"

#include <stddef.h>
#include <string.h>

static const char name[] = "blas_gemm_group";
static const char *const words_of[] = {"c", "a", "b"};

typedef struct request {
    double alpha, beta;
    int64_t count;
} request;

static acu_op *refuse(const acu_planning *p, acu_status status, size_t i, const char *why)
{
    char words[ACUI_OPS_WORDS];
    size_t count = p->count / 3;
    return acu_op_fail(status, name, p->site, "%s: %s[%zu] (%s) %s", name, words_of[i / count],
                       i % count, acui_value_words(&p->values[i], words), why);
}

static acu_op *check_operand(const acu_planning *p, acui_blas_group *g, size_t i)
{
    const acu_tensor *t = p->values[i].kind == ACU_TENSOR ? p->values[i].tensor : NULL;
    if (!t || acu_tensor_shape(t).rank != 2)
        return refuse(p, ACU_ERR_SHAPE, i, "must be a matrix");
    acu_dtype dtype = acu_tensor_dtype(t);
    if (i == 0)
        g->dtype = dtype;
    if (dtype != ACU_F16 && dtype != ACU_BF16 && dtype != ACU_F32 && dtype != ACU_TF32 &&
        dtype != ACU_F64)
        return refuse(p, ACU_ERR_DTYPE, i, "must be f16, bf16, f32, tf32 or f64");
    if (dtype != g->dtype)
        return refuse(p, ACU_ERR_DTYPE, i, "must have the dtype of all others");
    return acui_blas_matrix(t, &g->at[i])
               ? NULL
               : refuse(p, ACU_ERR_INVALID, i, "must be dense along its rows or its columns, and "
                        "all extents below 2^31");
}

static acu_op *check_shapes(const acu_planning *p, const acui_blas_group *g)
{
    size_t count = (size_t)g->count;
    for (size_t i = 0; i < count; i++) {
        const acui_array *c = &g->at[i], *a = &g->at[count + i], *b = &g->at[2 * count + i];
        if (a->columns != b->rows || c->rows != a->rows || c->columns != b->columns)
            return refuse(p, ACU_ERR_SHAPE, i, "must be [m, n] for a of [m, k] and b of [k, n]");
    }
    return NULL;
}

static acu_op *check_overlap(const acu_planning *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < p->count; k++) {
            const acu_tensor *c = p->values[i].tensor, *t = p->values[k].tensor;
            if (acu_tensor_buffer(c) == acu_tensor_buffer(t) &&
                (acui_overlaps(c, t) || acui_same_place(c, t)))
                return refuse(p, ACU_ERR_INVALID, i, "is written, and overlaps another operand");
        }
    return NULL;
}

static acu_op *check(acu_planning *p, acui_blas_group *g)
{
    acu_op *failed = acui_refuse_empty(p, name);
    for (size_t i = 0; i < p->count && !failed; i++)
        failed = check_operand(p, g, i);
    if (!failed)
        failed = check_shapes(p, g);
    return failed ? failed : check_overlap(p, (size_t)g->count);
}

static acu_op *make(acu_planning *p, const acui_blas_group *g)
{
    acu_arg args[3 * ACUI_BLAS_GROUP];
    acu_op *values[3 * ACUI_BLAS_GROUP];
    size_t count = (size_t)g->count;
    for (size_t i = 0; i < p->count; i++)
        args[i] = acu_arg_op(acu_op_take(&p->values[i], p->site),
                             i >= count ? ACU_READ : g->beta == 0 ? ACU_WRITE : ACU_UPDATE);
    /* Not captured: cuBLAS gets lists of the host's, and how they go to the device is not said. */
    acui_vendor_call call = {.library = &acui_library_CUBLAS,
                             .name = name,
                             .fn = acui_blas_grouped,
                             .repeats = ACUI_NOT_REPEATED,
                             .data = g,
                             .bytes = offsetof(acui_blas_group, at) + p->count * sizeof *g->at};
    acu_op_unzip(acui_vendor_op(&call, args, p->count, p->site), values, p->count, p->site);
    for (size_t i = count; i < p->count; i++)
        acu_op_release(values[i]);
    return acu_op_zip(values, count, p->site);
}

static acu_op *plan(acu_planning *p)
{
    request r;
    memcpy(&r, p->data, sizeof r);
    acui_blas_group *g = ACUI_NEW(acui_blas_group); /* zeroed */
    if (!g)
        return acu_op_fail(ACU_ERR_NO_MEMORY, name, p->site, "no memory for %s", name);
    g->alpha = r.alpha;
    g->beta = r.beta;
    g->count = (int)r.count;
    acu_op *op = check(p, g);
    if (!op)
        op = make(p, g);
    acui_free(g);
    return op;
}

static void drop(acu_op *const *ops, size_t count)
{
    for (size_t i = 0; i < count && ops; i++)
        acu_op_release(ops[i]);
}

acu_op *acu_op_blas_gemm_group(double alpha, acu_op *const *a, acu_op *const *b, double beta,
                               acu_op *const *c, size_t count, acu_site site)
{
    acu_op *operands[3 * ACUI_BLAS_GROUP];
    request r = {.alpha = alpha, .beta = beta, .count = (int64_t)count};
    if (!a || !b || !c || count < 1 || count > ACUI_BLAS_GROUP) {
        drop(a, count);
        drop(b, count);
        drop(c, count);
        return a && b && c
                   ? acu_op_fail(ACU_ERR_LIMIT, name, site, "%s takes 1 to %d products, not %zu",
                                 name, ACUI_BLAS_GROUP, count)
                   : acu_op_fail(ACU_ERR_INVALID, name, site, "%s needs three lists of operands, "
                                 "of which one is NULL", name);
    }
    memcpy(operands, c, count * sizeof *c);
    memcpy(operands + count, a, count * sizeof *a);
    memcpy(operands + 2 * count, b, count * sizeof *b);
    return acu_op_custom((acu_custom){.name = name, .fn = plan, .data = &r, .bytes = sizeof r},
                         operands, 3 * count, site);
}
