/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products with epilogues as operations: what fits together, checked before cuBLASLt is called
 * (cublaslt.c). Results lie by rows, and cuBLASLt's matrices by columns: so it gets the transposed
 * product, its A is b, its B is a, and its rows are the result's columns.
 */
#include "blas/cublaslt.h"

#include "base/error.h"
#include "base/options.h"
#include "memory/memory.h"
#include "ops/ops.h"
#include "vendor/cublas.h"

#include <acuda/product.h>

#include <string.h>

static const char name[] = "product";

enum { A, B, C, BIAS, KEPT, SCALE_A, SCALE_B, SCALE_RESULT, OPERANDS };
static const char *const words_of[] = {"a",    "b",       "c",       "bias",
                                       "kept", "scale_a", "scale_b", "scale_result"};

/* The options, and which operands there are. */
typedef struct request {
    double alpha, beta;
    acu_epilogue epilogue;
    acu_dtype dtype;
    bool keep, sums, deterministic, batch_invariant, fast_sums;
    int8_t at[OPERANDS]; /* -1: none */
} request;

/* One matrix, or a batch of them. */
typedef struct matrix {
    int64_t rows, columns, ld, batches, stride;
    bool by_rows;
} matrix;

typedef struct planned {
    acu_planning *p;
    request r;
    acu_dtype dtype, result; /* of the operands, and of the result */
    matrix a, b, c;
    int64_t m, n, k, batches;
    acu_shape shape, kept;
    acui_lt lt;
} planned;

/* ---- operands -------------------------------------------------------------------------------- */

static const acu_tensor *tensor_of(const planned *x, int i)
{
    return x->r.at[i] < 0 ? NULL : x->p->values[x->r.at[i]].tensor;
}

static acu_op *refuse(const planned *x, acu_status status, int i, const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, name, x->p->site, "%s: %s (%s) %s", name, words_of[i],
                       acui_value_words(&x->p->values[x->r.at[i]], words), why);
}

static acu_op *refuse_options(const planned *x, acu_status status, const char *why)
{
    return acu_op_fail(status, name, x->p->site, "%s: %s", name, why);
}

static bool is_f8(acu_dtype dtype)
{
    return dtype == ACU_F8E4M3FN || dtype == ACU_F8E5M2;
}

/* The last two dimensions; false: they have gaps in both directions. */
static bool as_matrix(const acu_tensor *t, matrix *x)
{
    acu_shape shape = acu_tensor_shape(t);
    const int64_t *strides = acu_tensor_strides(t) + (shape.rank - 2);
    int64_t rows = shape.dim[shape.rank - 2], columns = shape.dim[shape.rank - 1];
    *x = (matrix){.rows = rows, .columns = columns, .batches = 1};
    if ((strides[1] == 1 || columns == 1) && (strides[0] >= columns || rows == 1)) {
        x->by_rows = true;
        x->ld = rows == 1 ? columns : strides[0];
    } else if ((strides[0] == 1 || rows == 1) && (strides[1] >= rows || columns == 1)) {
        x->ld = columns == 1 ? rows : strides[1];
    } else {
        return false;
    }
    if (shape.rank == 3 && shape.dim[0] > 1) {
        x->batches = shape.dim[0];
        x->stride = acu_tensor_strides(t)[0];
    }
    return x->rows < INT32_MAX && x->columns < INT32_MAX && x->ld < INT32_MAX &&
           x->batches < INT32_MAX && x->stride >= 0;
}

static acu_op *check_matrix(const planned *x, int i, matrix *of)
{
    const acu_tensor *t = tensor_of(x, i);
    int rank = acu_tensor_shape(t).rank;
    if (rank != 2 && rank != 3)
        return refuse(x, ACU_ERR_SHAPE, i, "must be a matrix, or a batch of matrices");
    if (!as_matrix(t, of))
        return refuse(x, ACU_ERR_INVALID, i, "must be dense along its rows or its columns, and all "
                      "extents below 2^31");
    return NULL;
}

static acu_op *check_tensors(const planned *x)
{
    for (int i = 0; i < OPERANDS; i++)
        if (x->r.at[i] >= 0 && x->p->values[x->r.at[i]].kind != ACU_TENSOR)
            return refuse(x, ACU_ERR_INVALID, i, "must be a tensor");
    return NULL;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static acu_op *check_result_dtype(planned *x)
{
    acu_dtype a = x->dtype, d = x->r.dtype;
    bool small = a == ACU_F16 || a == ACU_BF16, f8 = is_f8(a);
    if (d == ACU_NO_DTYPE)
        d = f8 ? ACU_BF16 : a == ACU_I8 ? ACU_I32 : a;
    bool fits = f8                ? d == ACU_BF16 || d == ACU_F16 || d == ACU_F32 ||
                                        d == ACU_F8E4M3FN
                : a == ACU_I8     ? d == ACU_I32
                : small           ? d == a || d == ACU_F32
                                  : d == a;
    x->result = d;
    return fits ? NULL
                : acu_op_fail(ACU_ERR_DTYPE, name, x->p->site, "%s: a product of %s has no result "
                              "of %s", name, acu_dtype_name(a), acu_dtype_name(d));
}

static acu_op *check_dtypes(planned *x)
{
    acu_dtype a = acu_tensor_dtype(tensor_of(x, A)), b = acu_tensor_dtype(tensor_of(x, B));
    bool both_f8 = is_f8(a) && is_f8(b);
    x->dtype = a;
    if (!both_f8 && a != ACU_F16 && a != ACU_BF16 && a != ACU_F32 && a != ACU_TF32 &&
        a != ACU_F64 && a != ACU_I8)
        return refuse(x, ACU_ERR_DTYPE, A, "is of a dtype that it does not multiply");
    if (a != b && !both_f8)
        return refuse(x, ACU_ERR_DTYPE, B, "must have the dtype of a");
    if (a == ACU_F8E5M2 && b == ACU_F8E5M2)
        return refuse(x, ACU_ERR_DTYPE, B, "and a can not both be f8e5m2");
    return check_result_dtype(x);
}

/* cuBLASLt adds nothing of f8. */
static acu_dtype c_dtype(const planned *x)
{
    return is_f8(x->result) ? ACU_BF16 : x->result;
}

static acu_dtype bias_dtype(const planned *x)
{
    if (is_f8(x->dtype))
        return x->result == ACU_F16 ? ACU_F16 : ACU_BF16;
    return x->result;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static acu_op *check_shapes(planned *x)
{
    acu_op *failed = check_matrix(x, A, &x->a);
    if (!failed)
        failed = check_matrix(x, B, &x->b);
    if (failed)
        return failed;
    int a_rank = acu_tensor_shape(tensor_of(x, A)).rank;
    int b_rank = acu_tensor_shape(tensor_of(x, B)).rank;
    x->m = x->a.rows;
    x->k = x->a.columns;
    x->n = x->b.columns;
    if (x->b.rows != x->k)
        return refuse(x, ACU_ERR_SHAPE, B, "must have as many rows as a has columns");
    if (x->a.batches != x->b.batches && x->a.batches != 1 && x->b.batches != 1)
        return refuse(x, ACU_ERR_SHAPE, B, "must have as many matrices as a, or one");
    x->batches = x->a.batches > x->b.batches ? x->a.batches : x->b.batches;
    x->shape = a_rank == 3 || b_rank == 3 ? ACU_SHAPE(x->batches, x->m, x->n)
                                          : ACU_SHAPE(x->m, x->n);
    return NULL;
}

static acu_op *check_c(planned *x)
{
    if (x->r.at[C] < 0)
        return x->r.beta == 0 ? NULL
                              : refuse_options(x, ACU_ERR_INVALID, "beta needs c");
    acu_op *failed = check_matrix(x, C, &x->c);
    if (failed)
        return failed;
    if (acu_tensor_dtype(tensor_of(x, C)) != c_dtype(x))
        return refuse(x, ACU_ERR_DTYPE, C,
                      is_f8(x->result) ? "must be bf16" : "must have the dtype of the result");
    if (x->c.rows != x->m || x->c.columns != x->n ||
        (x->c.batches != 1 && x->c.batches != x->batches))
        return refuse(x, ACU_ERR_SHAPE, C, "must have the shape of the result");
    return x->c.by_rows ? NULL : refuse(x, ACU_ERR_INVALID, C, "must be dense along its rows");
}

static acu_op *check_bias(const planned *x)
{
    if (x->r.at[BIAS] < 0)
        return NULL;
    acu_shape shape = acu_tensor_shape(tensor_of(x, BIAS));
    if (shape.rank != 1 || shape.dim[0] != x->n)
        return refuse(x, ACU_ERR_SHAPE, BIAS, "must have one element for each column of the "
                      "result");
    if (acu_tensor_dtype(tensor_of(x, BIAS)) != bias_dtype(x))
        return refuse(x, ACU_ERR_DTYPE, BIAS,
                      is_f8(x->dtype) ? "must be bf16, or f16 if the result is"
                                      : "must have the dtype of the result");
    return tensor_of(x, BIAS)->dense ? NULL
                                        : refuse(x, ACU_ERR_INVALID, BIAS, "must be dense");
}

static acu_op *check_scales(const planned *x)
{
    for (int i = SCALE_A; i <= SCALE_RESULT; i++) {
        const acu_tensor *t = tensor_of(x, i);
        if (!t)
            continue;
        if (!is_f8(x->dtype))
            return refuse(x, ACU_ERR_DTYPE, i, "is only for f8");
        if (acu_tensor_dtype(t) != ACU_F32 || acu_shape_elements(acu_tensor_shape(t)) != 1)
            return refuse(x, ACU_ERR_DTYPE, i, "must be one f32");
        if (i == SCALE_RESULT && !is_f8(x->result))
            return refuse(x, ACU_ERR_DTYPE, i, "is only for a result of f8");
    }
    return NULL;
}

/* ---- epilogues ------------------------------------------------------------------------------- */

static bool is_gradient(const request *r)
{
    return r->epilogue >= ACU_EPILOGUE_RELU_GRADIENT;
}

static bool is_relu(const request *r)
{
    return r->epilogue == ACU_EPILOGUE_RELU || r->epilogue == ACU_EPILOGUE_RELU_GRADIENT;
}

static acu_dtype kept_dtype(const planned *x)
{
    return is_relu(&x->r) ? ACU_U8 : x->result;
}

static acu_op *check_kept(planned *x)
{
    const request *r = &x->r;
    x->kept = x->shape;
    if (is_relu(r))
        x->kept.dim[x->kept.rank - 1] = 16 * acui_parts(x->n, 128);
    if ((r->keep || is_gradient(r)) && !is_relu(r) && x->n % 8 != 0)
        return refuse_options(x, ACU_ERR_SHAPE, "what gelu keeps for its gradient has a multiple "
                              "of 8 columns");
    const acu_tensor *t = tensor_of(x, KEPT);
    if (!t)
        return is_gradient(r) ? refuse_options(x, ACU_ERR_INVALID, "a gradient needs `kept`")
                              : NULL;
    if (!is_gradient(r))
        return refuse(x, ACU_ERR_INVALID, KEPT, "is only for gradients");
    if (acu_tensor_dtype(t) != kept_dtype(x) || !acu_shape_equal(acu_tensor_shape(t), x->kept) ||
        !t->dense)
        return refuse(x, ACU_ERR_SHAPE, KEPT, "must be what `keep` gave for this shape");
    return NULL;
}

static acu_op *check_epilogue(planned *x)
{
    const request *r = &x->r;
    bool none = r->epilogue == ACU_EPILOGUE_NONE, gradient = is_gradient(r);
    bool plain = none && !r->keep && !r->sums && r->at[BIAS] < 0;
    if ((x->dtype == ACU_F64 || x->dtype == ACU_I8) && !plain)
        return refuse_options(x, ACU_ERR_DTYPE, "f64 and i8 have no epilogue and no bias");
    if (is_f8(x->dtype) && (r->keep || r->sums || gradient))
        return refuse_options(x, ACU_ERR_DTYPE, "f8 has no gradients, and keeps nothing for them");
    if (r->keep && (none || gradient))
        return refuse_options(x, ACU_ERR_INVALID, "`keep` is for relu and gelu");
    if (r->sums && !none && !gradient)
        return refuse_options(x, ACU_ERR_INVALID, "`sums` is for gradients");
    if ((gradient || r->sums) && r->at[BIAS] >= 0)
        return refuse_options(x, ACU_ERR_INVALID, "gradients have no bias");
    if (r->sums && none && x->batches > 1)
        return refuse_options(x, ACU_ERR_INVALID, "the sums of b's rows are not for batches");
    if (x->dtype == ACU_I8 && (r->alpha != 1 || (r->beta != 0 && r->beta != 1)))
        return refuse_options(x, ACU_ERR_INVALID, "for i8 alpha is 1, and beta 0 or 1");
    return check_kept(x);
}

/* What f8 and i8 demand of the layout. */
static acu_op *check_small(const planned *x)
{
    bool f8 = is_f8(x->dtype);
    int64_t step = f8 ? 16 : 4;
    if (!f8 && x->dtype != ACU_I8)
        return NULL;
    if (!x->a.by_rows)
        return refuse(x, ACU_ERR_INVALID, A, "must be dense along its rows");
    if (x->b.by_rows && x->k > 1 && x->n > 1)
        return refuse(x, ACU_ERR_INVALID, B, "must be dense along its columns: a transposed view "
                      "of [n, k]");
    if (x->k % step || x->n % step || x->a.ld % step || x->b.ld % step)
        return refuse(x, ACU_ERR_SHAPE, B, f8 ? "must have multiples of 16 rows and columns"
                                              : "must have multiples of 4 rows and columns");
    return NULL;
}

static int align_of(const acu_tensor *t)
{
    CUdeviceptr at = t ? acu_buffer_address(t->buffer) + t->offset : 0;
    int align = 256;
    while (at % (CUdeviceptr)align != 0)
        align /= 2;
    return align;
}

static acu_op *check_places(const planned *x)
{
    const acu_tensor *out = x->p->out.tensor;
    if (out && !out->dense)
        return refuse_options(x, ACU_ERR_INVALID, "its result must go to a dense tensor");
    for (int i = 0; out && i < OPERANDS; i++) {
        const acu_tensor *t = tensor_of(x, i);
        bool same = t && acu_tensor_buffer(out) == acu_tensor_buffer(t) && acui_same_place(out, t);
        if (same && (i != C || is_f8(x->result)))
            return refuse(x, ACU_ERR_SHARED, i, "would be overwritten before it is read");
    }
    for (int i = A; i <= C && x->r.batch_invariant; i++)
        if (tensor_of(x, i) && align_of(tensor_of(x, i)) < 16)
            return refuse(x, ACU_ERR_INVALID, i, "must be aligned to 16 bytes to be "
                          "batch-invariant");
    if (x->r.batch_invariant && align_of(out) < 16)
        return refuse_options(x, ACU_ERR_INVALID, "its result must be aligned to 16 bytes to be "
                              "batch-invariant");
    return NULL;
}

static acu_op *check(planned *x)
{
    acu_op *failed = check_tensors(x);
    if (!failed)
        failed = check_dtypes(x);
    if (!failed)
        failed = check_shapes(x);
    if (!failed)
        failed = check_c(x);
    if (!failed)
        failed = check_bias(x);
    if (!failed)
        failed = check_scales(x);
    if (!failed)
        failed = check_epilogue(x);
    if (!failed)
        failed = check_small(x);
    return failed ? failed : check_places(x);
}

/* ---- in cuBLASLt's terms --------------------------------------------------------------------- */

static int type_of(acu_dtype dtype)
{
    static const int types[ACU_DTYPE_COUNT] = {
        [ACU_F16] = ACUI_CUDA_R_16F,         [ACU_BF16] = ACUI_CUDA_R_16BF,
        [ACU_F32] = ACUI_CUDA_R_32F,         [ACU_TF32] = ACUI_CUDA_R_32F,
        [ACU_F64] = ACUI_CUDA_R_64F,         [ACU_I8] = ACUI_CUDA_R_8I,
        [ACU_I32] = ACUI_CUDA_R_32I,         [ACU_F8E4M3FN] = ACUI_CUDA_R_8F_E4M3,
        [ACU_F8E5M2] = ACUI_CUDA_R_8F_E5M2};
    return types[dtype];
}

/* A batch of matrices that continue each other, times one matrix, is one large product. */
static void merge_rows(planned *x)
{
    matrix *a = &x->a, *c = &x->c;
    bool joined = a->by_rows && (a->rows == 1 ? a->stride > 0 : a->stride == a->rows * a->ld);
    if (x->batches == 1 || x->b.batches != 1 || !joined)
        return;
    if (x->r.at[C] >= 0) {
        if (c->batches == 1 || (c->rows > 1 && c->stride != c->rows * c->ld))
            return;
        c->ld = c->rows == 1 ? c->stride : c->ld;
        c->rows *= x->batches;
    }
    if (x->m * x->batches >= INT32_MAX)
        return;
    a->ld = a->rows == 1 ? a->stride : a->ld;
    x->m *= x->batches;
    a->rows = x->m;
    x->batches = 1;
}

/* As it lies in memory, by columns. */
static acui_lt_matrix lies(const planned *x, const matrix *m, int type, const acu_tensor *t)
{
    return (acui_lt_matrix){.rows = m->by_rows ? m->columns : m->rows,
                            .columns = m->by_rows ? m->rows : m->columns,
                            .ld = m->ld,
                            .stride = m->stride,
                            .type = type,
                            .align = x->r.batch_invariant ? 16 : align_of(t)};
}

static int epilogue_of(const request *r)
{
    static const int codes[] = {ACUI_LT_NONE, ACUI_LT_RELU, ACUI_LT_GELU, ACUI_LT_RELU_GRADIENT,
                                ACUI_LT_GELU_GRADIENT};
    int code = codes[r->epilogue];
    if (r->at[BIAS] >= 0)
        code = code == ACUI_LT_NONE ? ACUI_LT_WITH_BIAS : code | ACUI_LT_WITH_BIAS;
    if (r->sums)
        code = code == ACUI_LT_NONE ? ACUI_LT_SUMS_OF_A : code | ACUI_LT_WITH_SUMS;
    return r->keep ? code | ACUI_LT_KEEP : code;
}

static void set_compute(planned *x, acui_lt_key *k)
{
    acu_dtype dtype = x->dtype;
    k->compute = dtype == ACU_F64    ? ACUI_CUBLAS_COMPUTE_64F
                 : dtype == ACU_TF32 ? ACUI_CUBLAS_COMPUTE_TF32
                 : dtype == ACU_I8   ? ACUI_CUBLAS_COMPUTE_32I
                                     : ACUI_CUBLAS_COMPUTE_32F;
    k->scale = dtype == ACU_F64  ? ACUI_CUDA_R_64F
               : dtype == ACU_I8 ? ACUI_CUDA_R_32I
                                 : ACUI_CUDA_R_32F;
}

static void describe(planned *x)
{
    acui_lt_key *k = &x->lt.key;
    const request *r = &x->r;
    int result = type_of(x->result);
    merge_rows(x);
    matrix d = {.rows = x->m, .columns = x->n, .ld = x->n, .by_rows = true,
                .stride = x->batches > 1 ? x->m * x->n : 0};
    k->at[ACUI_LT_A] = lies(x, &x->b, type_of(acu_tensor_dtype(tensor_of(x, B))), tensor_of(x, B));
    k->at[ACUI_LT_B] = lies(x, &x->a, type_of(acu_tensor_dtype(tensor_of(x, A))), tensor_of(x, A));
    k->at[ACUI_LT_D] = lies(x, &d, result, x->p->out.tensor);
    k->at[ACUI_LT_C] = r->at[C] < 0 ? k->at[ACUI_LT_D] : lies(x, &x->c, result, tensor_of(x, C));
    k->at[ACUI_LT_C].type = type_of(c_dtype(x));
    k->batches = x->batches;
    k->turned_a = !x->b.by_rows;
    k->turned_b = !x->a.by_rows;
    set_compute(x, k);
    k->epilogue = epilogue_of(r);
    k->bias_type = r->at[BIAS] >= 0 || r->sums ? type_of(bias_dtype(x)) : -1;
    k->bias_align = k->bias_type < 0 ? 0 : align_of(tensor_of(x, BIAS));
    if (r->keep || is_gradient(r)) {
        k->kept_align = align_of(tensor_of(x, KEPT));
        k->kept_ld = is_relu(r) ? 128 * acui_parts(x->n, 128) : x->n;
        k->kept_stride = x->batches > 1 ? k->kept_ld * x->m : 0;
    }
    k->scaled = r->at[SCALE_A] >= 0 || r->at[SCALE_B] >= 0;
    k->fast = r->fast_sums;
    k->deterministic = r->deterministic || r->batch_invariant;
    k->invariant = r->batch_invariant;
    x->lt.alpha = r->alpha;
    x->lt.beta = r->beta;
}

/* ---- the op ---------------------------------------------------------------------------------- */

/* The op that yields the second value, if there is one. */
static acu_op *second_of(const planned *x)
{
    if (x->r.keep)
        return acu_op_empty(kept_dtype(x), x->kept, x->p->site);
    return x->r.sums ? acu_op_empty(x->result, ACU_SHAPE(x->n), x->p->site) : NULL;
}

static size_t add(acu_arg *args, size_t count, int8_t *place, acu_op *op, acu_access access)
{
    *place = (int8_t)count;
    args[count] = acu_arg_op(op, access);
    return count + 1;
}

static acu_op *call(planned *x)
{
    static const int8_t place_of[] = {ACUI_LT_B,    ACUI_LT_A,       ACUI_LT_C,      ACUI_LT_BIAS,
                                      ACUI_LT_KEPT, ACUI_LT_SCALE_B, ACUI_LT_SCALE_A,
                                      ACUI_LT_SCALE_D};
    acu_arg args[OPERANDS + 2];
    acui_lt *lt = &x->lt;
    acu_planning *p = x->p;
    memset(lt->place, -1, sizeof lt->place);
    acu_op *out = acui_result(p, name, x->result, x->shape), *second = second_of(x);
    size_t count = add(args, 0, &lt->place[ACUI_LT_D], out, ACU_WRITE);
    if (second)
        count = add(args, count, &lt->place[x->r.keep ? ACUI_LT_KEPT : ACUI_LT_BIAS], second,
                    ACU_WRITE);
    for (int i = 0; i < OPERANDS; i++)
        if (x->r.at[i] >= 0)
            count = add(args, count, &lt->place[place_of[i]],
                        acu_op_take(&p->values[x->r.at[i]], p->site), ACU_READ);
    acui_vendor_call call = {.library = &acui_library_CUBLASLT,
                             .name = name,
                             .fn = acui_lt_run,
                             .data = lt,
                             .bytes = sizeof *lt,
                             .key_bytes = sizeof lt->key,
                             .repeats = ACUI_REPEATED};
    acu_op *op = acui_vendor_op(&call, args, count, p->site);
    if (!second)
        return acu_op_nth(op, 0, p->site);
    acu_op *values[OPERANDS + 2];
    acu_op_unzip(op, values, count, p->site);
    for (size_t i = 2; i < count; i++)
        acu_op_release(values[i]);
    return acu_op_zip(values, 2, p->site);
}

static acu_op *plan(acu_planning *p)
{
    planned x;
    memset(&x, 0, sizeof x);
    x.p = p;
    memcpy(&x.r, p->data, sizeof x.r);
    acu_op *failed = acui_refuse_empty(p, name);
    if (!failed)
        failed = check(&x);
    if (failed)
        return failed;
    describe(&x);
    return call(&x);
}

/* ---- constructing ---------------------------------------------------------------------------- */

static acu_op *drop_all(acu_op *const *ops, size_t count, acu_op *failed)
{
    for (size_t i = 0; i < count; i++)
        acu_op_release(ops[i]);
    return failed;
}

acu_op *acu_op_product(acu_op *a, acu_op *b, const acu_product_options *options, acu_site site)
{
    acu_product_options o = {.size = sizeof o};
    acu_status st = options ? acui_options_read(&o, sizeof o, options, "acu_product") : ACU_OK;
    acu_op *const all[OPERANDS] = {a, b, o.c, o.bias, o.kept, o.scale_a, o.scale_b,
                                   o.scale_result};
    acu_op *ops[OPERANDS];
    size_t count = 0;
    request r;
    memset(&r, 0, sizeof r);
    for (int i = 0; i < OPERANDS; i++) {
        bool here = i <= B || all[i];
        r.at[i] = (int8_t)(here ? (int)count : -1);
        if (here)
            ops[count++] = all[i];
    }
    if (st != ACU_OK)
        return drop_all(ops, count, acu_op_fail(st, name, site, NULL));
    if ((unsigned)o.epilogue > ACU_EPILOGUE_GELU_GRADIENT)
        return drop_all(ops, count, acu_op_fail(ACU_ERR_INVALID, name, site, "%s: %d is no "
                                                "acu_epilogue", name, (int)o.epilogue));
    r.alpha = o.alpha == 0 ? 1 : o.alpha;
    r.beta = o.beta;
    r.epilogue = o.epilogue;
    r.dtype = o.dtype;
    r.keep = o.keep;
    r.sums = o.sums;
    r.deterministic = o.deterministic;
    r.batch_invariant = o.batch_invariant;
    r.fast_sums = o.fast_sums;
    return acu_op_custom((acu_custom){.name = name, .fn = plan, .data = &r, .bytes = sizeof r}, ops,
                         count, site);
}
