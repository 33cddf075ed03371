/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of matrices, batched and broadcast: shapes, strides, and the launch of acuda's kernel
 * (kernels/matmul.cu), for which cuBLAS is asked first where it may be used (gemm.c).
 */
#include "ops/gemm.h"
#include "ops/ops.h"

#include <stdio.h>

/* A tensor as matrices: a vector is one row, or one column. */
typedef struct matrix {
    acu_shape shape;
    int64_t stride[ACU_MAX_RANK];
} matrix;

typedef struct plan {
    acu_planning *p;
    matrix a, b;
    bool no_row, no_column; /* the result lacks the dimension, which came from a vector */
    acu_dtype dtype;
    acu_shape shape;  /* of the result as matrices */
    acu_shape result; /* the result's */
    acui_matmul params;
} plan;

static matrix matrix_of(const acu_tensor *tensor)
{
    matrix m = {.shape = acu_tensor_shape(tensor)};
    for (int d = 0; d < m.shape.rank; d++)
        m.stride[d] = acu_tensor_strides(tensor)[d];
    return m;
}

/* Puts a dimension of one element in front of dimension `at`. */
static void insert(matrix *m, int at)
{
    for (int d = m->shape.rank++; d > at; d--) {
        m->shape.dim[d] = m->shape.dim[d - 1];
        m->stride[d] = m->stride[d - 1];
    }
    m->shape.dim[at] = 1;
    m->stride[at] = 0;
}

/* Builds the message only on failure. */
static acu_op *refuse(const plan *m, acu_status status, const char *why)
{
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
    const acu_val *values = m->p->values;
    return acu_op_fail(status, "matmul", m->p->site, "matmul of %s and %s: %s",
                       acui_value_words(&values[0], a), acui_value_words(&values[1], b), why);
}

/* Without the dimensions that came from vectors; at least one is left. */
static acu_shape result_of(const plan *m)
{
    acu_shape result = m->shape;
    int last = result.rank - 1;
    if (m->no_row)
        result.dim[last - 1] = result.dim[last];
    result.rank -= m->no_row + m->no_column;
    if (result.rank == 0)
        result = ACU_SHAPE(1);
    return result;
}

static acu_op *check_shapes(plan *m)
{
    acu_shape a = m->a.shape, b = m->b.shape;
    if (a.dim[a.rank - 1] != b.dim[b.rank - 2])
        return refuse(m, ACU_ERR_SHAPE,
                      m->no_column ? "the last dimensions must be equal"
                                   : "the last dimension of the one must be the one before the "
                                     "last of the other");
    acu_shape batch = a, other = b;
    batch.dim[a.rank - 2] = batch.dim[a.rank - 1] = 1;
    other.dim[b.rank - 2] = other.dim[b.rank - 1] = 1;
    if (!acui_broadcast(&batch, other))
        return refuse(m, ACU_ERR_SHAPE,
                      "dimensions in front of the matrices do not broadcast");
    m->shape = batch;
    m->shape.dim[batch.rank - 2] = a.dim[a.rank - 2];
    m->shape.dim[batch.rank - 1] = b.dim[b.rank - 1];
    m->result = result_of(m);
    return NULL;
}

static acu_op *check(plan *m)
{
    const acu_val *values = m->p->values;
    if (values[0].kind != ACU_TENSOR || values[1].kind != ACU_TENSOR)
        return refuse(m, ACU_ERR_INVALID, "it takes two tensors");
    m->dtype = acu_tensor_dtype(values[0].tensor);
    bool known = acui_class_of(m->dtype) || acui_is_complex(m->dtype);
    if (acu_tensor_shape(values[0].tensor).rank == 0 ||
        acu_tensor_shape(values[1].tensor).rank == 0)
        return refuse(m, ACU_ERR_SHAPE, "it takes matrices and vectors, and acu_mul numbers");
    if (acu_tensor_dtype(values[1].tensor) != m->dtype || !known || m->dtype == ACU_BOOL)
        return refuse(m, ACU_ERR_DTYPE, "both must be of the same of f32, tf32, f64, f16, bf16, "
                      "c64, c128 and the integers");
    m->a = matrix_of(values[0].tensor);
    m->b = matrix_of(values[1].tensor);
    m->no_row = m->a.shape.rank == 1;
    m->no_column = m->b.shape.rank == 1;
    if (m->no_row)
        insert(&m->a, 0);
    if (m->no_column)
        insert(&m->b, 1);
    return check_shapes(m);
}

/* The stride along dimension d of `shape`, which is one of the batch; 0 where it is broadcast. */
static int64_t batch_stride(const matrix *m, acu_shape shape, int d)
{
    int place = d - (shape.rank - m->shape.rank);
    return place < 0 || m->shape.dim[place] == 1 ? 0 : m->stride[place];
}

/* The tensor for the result as matrices. One that does not fit is refused later. */
static matrix matrix_for(const plan *m, const acu_tensor *out)
{
    matrix of = matrix_of(out);
    if (!acu_shape_equal(of.shape, m->result))
        return (matrix){.shape = m->shape};
    if (m->no_row && m->no_column)
        of.shape.rank = 0;
    if (m->no_row)
        insert(&of, of.shape.rank ? of.shape.rank - 1 : 0);
    if (m->no_column)
        insert(&of, of.shape.rank);
    return of;
}

static void lay_out(plan *m)
{
    acui_matmul *p = &m->params;
    const matrix *a = &m->a, *b = &m->b;
    matrix into, *out = m->p->out.tensor ? &into : NULL;
    int rank = m->shape.rank, a_rank = a->shape.rank, b_rank = b->shape.rank;
    if (out)
        into = matrix_for(m, m->p->out.tensor);
    p->m = m->shape.dim[rank - 2];
    p->n = m->shape.dim[rank - 1];
    p->k = a->shape.dim[a_rank - 1];
    p->dtype = (int)m->dtype;
    p->a_row = a->stride[a_rank - 2];
    p->a_column = a->stride[a_rank - 1];
    p->b_row = b->stride[b_rank - 2];
    p->b_column = b->stride[b_rank - 1];
    p->out_row = out ? out->stride[rank - 2] : p->n;
    p->out_column = out ? out->stride[rank - 1] : 1;
    int64_t dims[ACUI_RANK] = {1}, dense = p->m * p->n;
    p->batches = 1;
    for (int d = rank - 3; d >= 0; d--) {
        dims[d] = m->shape.dim[d];
        p->at[0].stride[d] = out ? batch_stride(out, m->shape, d) : dense;
        p->at[1].stride[d] = batch_stride(a, m->shape, d);
        p->at[2].stride[d] = batch_stride(b, m->shape, d);
        dense *= dims[d];
        p->batches *= dims[d];
    }
    acui_index_make(&p->batch, rank > 2 ? rank - 2 : 1, dims);
}

/* Whether an operand's elements are neighbours in one direction, and begin at multiples of 16 bytes
 * in the other, as far as strides tell. Others gain little by tensor cores. */
static bool has_chunks(int64_t across, int64_t k, int64_t chunk)
{
    return (k == 1 && across % chunk == 0) || (across == 1 && k % chunk == 0);
}

/* By tensor cores (kernels/matmul_mma.cu): what fills a tile of theirs. */
static bool is_for_tensor_cores(const plan *m)
{
    const acui_matmul *p = &m->params;
    const acu_device_info *info = acu_device_info_of(m->p->device);
    int64_t chunk = 16 / (int64_t)acu_dtype_bytes(m->dtype);
    return (m->dtype == ACU_F16 || m->dtype == ACU_BF16 || m->dtype == ACU_TF32) && p->m >= 64 &&
           p->n >= 64 && p->k >= 32 && p->k < 1 << 28 &&
           has_chunks(p->a_row, p->a_column, chunk) && has_chunks(p->b_column, p->b_row, chunk) &&
           info->compute_major >= 8 && info->max_shared_optin >= ACUI_MMA_SHARED;
}

static int64_t tiles_of(const plan *m, int64_t rows, int64_t columns)
{
    const acui_matmul *p = &m->params;
    return acui_parts(p->m, rows) * acui_parts(p->n, columns) * p->batches;
}

/* Takes the arguments. */
static acu_op *by_tensor_cores(const plan *m, const acu_arg *args)
{
    char kernel[32];
    int64_t tiles = tiles_of(m, ACUI_MMA_ROWS, ACUI_MMA_COLUMNS);
    acu_config config = ACU_GRID_BLOCK(acui_blocks(tiles, 1), 1, 1, ACUI_MMA_THREADS, 1, 1);
    config.shared = ACUI_MMA_SHARED;
    snprintf(kernel, sizeof kernel, "matmul_%s", acu_dtype_name(m->dtype));
    return acui_launch_as(m->p, "matmul", "acuda.matmul_mma", kernel, config, args, 4);
}

static acu_op *by_other_cores(const plan *m, const acu_arg *args)
{
    char kernel[32], class = acui_is_complex(m->dtype) ? 'z' : acui_class_of(m->dtype);
    int64_t large = class == 'f' ? 128 : 64;
    bool small = (m->params.m <= large / 2 && m->params.n <= 4 * large) ||
                 (m->params.n <= large / 2 && m->params.m <= 4 * large);
    int64_t tile = small ? 32 : large;
    snprintf(kernel, sizeof kernel, small ? "matmul_small_%c" : "matmul_%c", class);
    return acui_launch(m->p, "matmul", class == 'z' ? "acuda.complex_sums" : "acuda.matmul", kernel,
                       acui_blocks(tiles_of(m, tile, tile), 1), args, 4);
}

static acu_op *multiply(plan *m, acu_op *out)
{
    acu_planning *p = m->p;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
                            acu_arg_struct(&m->params, sizeof m->params)};
    acu_op *launch = is_for_tensor_cores(m) ? by_tensor_cores(m, args) : by_other_cores(m, args);
    return acu_op_nth(acui_gemm_ask(p->device, &m->params, launch), 0, p->site);
}

static acu_op *plan_matmul(acu_planning *p)
{
    plan m = {.p = p};
    acu_op *failed = check(&m);
    if (failed)
        return failed;
    if (acu_shape_elements(m.shape) <= 0)
        return acui_result(p, "matmul", m.dtype, m.result); /* which says if there are too many
                                                            * elements */
    lay_out(&m);
    if (p->out.tensor)
        for (int i = 0; i < 2; i++)
            if (acui_same_place(p->out.tensor, p->values[i].tensor) &&
                acu_tensor_buffer(p->out.tensor) == acu_tensor_buffer(p->values[i].tensor))
                return acu_op_fail(ACU_ERR_SHARED, "matmul", p->site,
                                   "matmul can not overwrite its "
                                   "operand %d, which it reads several times",
                                   i);
    acu_op *out = acui_result(p, "matmul", m.dtype, m.result);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    return multiply(&m, out);
}

acu_op *acu_op_matmul(acu_op *a, acu_op *b, acu_site site)
{
    acu_custom custom = {.name = "matmul", .fn = plan_matmul};
    return acu_op_custom(custom, (acu_op *const[]){a, b}, 2, site);
}
