/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sparse matrices from one form to another, and in blocks: made of acuda's other operations. */
#include "base/error.h"
#include "memory/memory.h"
#include "ops/ops.h"

#include <acuda/arrange.h>
#include <acuda/index.h>
#include <acuda/scan.h>
#include <acuda/select.h>
#include <acuda/sort.h>
#include <acuda/sparse.h>

#include <string.h>

typedef struct request {
    int64_t rows, cols;
} request;

typedef struct kind {
    const char *name;
    acu_custom_fn fn;
    size_t count;
    const char *operands[4];
    int ranks[4]; /* 0: 1 or 2 */
} kind;

/* ---- checking -------------------------------------------------------------------------------- */

static acu_op *refuse(const acu_planning *p, const kind *k, acu_status status, size_t i,
                      const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, k->name, p->site, "%s: %s (%s) %s", k->name, k->operands[i],
                       acui_value_words(&p->values[i], words), why);
}

static acu_op *check(const acu_planning *p, const kind *k)
{
    for (size_t i = 0; i < k->count; i++) {
        const acu_tensor *t = p->values[i].kind == ACU_TENSOR ? p->values[i].tensor : NULL;
        if (!t)
            return refuse(p, k, ACU_ERR_INVALID, i, "must be a tensor");
        int rank = acu_tensor_shape(t).rank, want = k->ranks[i];
        if (want ? rank != want : rank > 2)
            return refuse(p, k, ACU_ERR_SHAPE, i,
                          want == 1   ? "must be a vector"
                          : want == 2 ? "must be a matrix"
                          : want == 3 ? "must be [count, size, size]"
                                      : "must be a vector or a matrix");
    }
    return NULL;
}

/* Values 0 and, if `two`, 1 are indices of one dtype. */
static acu_op *check_indices(const acu_planning *p, const kind *k, bool two)
{
    acu_dtype dtype = acu_tensor_dtype(p->values[0].tensor);
    if (dtype != ACU_I32 && dtype != ACU_I64)
        return refuse(p, k, ACU_ERR_DTYPE, 0, "must be i32 or i64");
    if (two && acu_tensor_dtype(p->values[1].tensor) != dtype)
        return refuse(p, k, ACU_ERR_DTYPE, 1, "must be of the first operand's dtype");
    return NULL;
}

static int64_t extent(const acu_planning *p, size_t i, int d)
{
    return acu_tensor_shape(p->values[i].tensor).dim[d];
}

/* Whether so many rows or elements can be counted by indices of value 0's dtype. */
static acu_op *check_count(const acu_planning *p, const kind *k, int64_t count)
{
    const int64_t most = (int64_t)1 << 53; /* acu_arange takes doubles */
    bool narrow = acu_tensor_dtype(p->values[0].tensor) == ACU_I32;
    if (count <= (narrow ? INT32_MAX : most))
        return NULL;
    return refuse(p, k, ACU_ERR_LIMIT, 0,
                  narrow ? "are too narrow for 2^31 rows or elements and more, which take i64"
                         : "are of a matrix that is too large");
}

static acu_op *check_lengths(const acu_planning *p, const kind *k, size_t from)
{
    for (size_t i = from + 1; i <= 2; i++)
        if (extent(p, i, 0) != extent(p, from, 0))
            return refuse(p, k, ACU_ERR_SHAPE, i, "must have one for each element");
    return NULL;
}

/* ---- small operations ------------------------------------------------------------------------ */

/* Value i, which stays what it is, so that it can be used more than once. */
static acu_op *value(const acu_planning *p, size_t i)
{
    return acu_op_value(p->values[i].tensor, p->site);
}

static acu_op *dense(const acu_planning *p, size_t i)
{
    return p->values[i].tensor->dense ? value(p, i) : acu_op_dup(value(p, i), p->site);
}

static acu_op *wide(const acu_planning *p, size_t i)
{
    return acu_op_convert(value(p, i), ACU_I64, p->site);
}

static acu_op *both(const acu_planning *p, acu_elementwise how, acu_op *a, acu_op *b)
{
    return acu_op_elementwise(how, (acu_op *const[]){a, b}, 2, p->site);
}

/* row * cols + column, in i64 */
static acu_op *place(const acu_planning *p, acu_op *row, int64_t cols, acu_op *column)
{
    acu_op *times = both(p, ACU_OP_MUL, row, acu_op_number_i64(cols, p->site));
    return both(p, ACU_OP_ADD, times, column);
}

static acu_op *rows_of(const acu_planning *p, int64_t count, acu_dtype dtype)
{
    acu_dtype index = acu_tensor_dtype(p->values[0].tensor);
    acu_op *each = acu_op_arange(index, 0, (double)count, 1, p->site);
    acu_op *behind = acu_op_searchsorted(dense(p, 0), each, true, p->site);
    return acu_op_convert(both(p, ACU_OP_SUB, behind, acu_op_number_i64(1, p->site)), dtype,
                          p->site);
}

static acu_op *reshape(const acu_planning *p, acu_op *x, acu_shape shape)
{
    return acu_op_reshape(x, shape, p->site);
}

/* ---- rows and offsets ------------------------------------------------------------------------ */

static acu_op *plan_rows(acu_planning *p);
static acu_op *plan_offsets(acu_planning *p);
static acu_op *plan_sort(acu_planning *p);
static acu_op *plan_dense(acu_planning *p);
static acu_op *plan_compress(acu_planning *p);
static acu_op *plan_blocks(acu_planning *p);
static acu_op *plan_cut(acu_planning *p);
static acu_op *plan_product(acu_planning *p);

enum { ROWS, OFFSETS, SORT, DENSE, COMPRESS, BLOCKS, CUT, PRODUCT };
static const kind kinds[] = {
    [ROWS] = {"csr_to_rows", plan_rows, 2, {"offsets", "columns"}, {1, 1}},
    [OFFSETS] = {"coo_to_offsets", plan_offsets, 1, {"rows"}, {1}},
    [SORT] = {"coo_sort", plan_sort, 3, {"rows", "columns", "values"}, {1, 1, 1}},
    [DENSE] = {"coo_to_dense", plan_dense, 3, {"rows", "columns", "values"}, {1, 1, 1}},
    [COMPRESS] = {"dense_to_csr", plan_compress, 1, {"the matrix"}, {2}},
    [BLOCKS] = {"bsr_to_dense", plan_blocks, 3, {"offsets", "columns", "blocks"}, {1, 1, 3}},
    [CUT] = {"dense_to_bsr", plan_cut, 1, {"the matrix"}, {2}},
    [PRODUCT] = {"bsr_matmul", plan_product, 4, {"offsets", "columns", "blocks", "x"}, {1, 1, 3}},
};

static acu_op *plan_rows(acu_planning *p)
{
    const kind *k = &kinds[ROWS];
    acu_op *failed = check(p, k);
    if (!failed)
        failed = check_indices(p, k, true);
    if (!failed)
        failed = check_count(p, k, extent(p, 1, 0));
    if (failed)
        return failed;
    return acui_into(p, rows_of(p, extent(p, 1, 0), acu_tensor_dtype(p->values[0].tensor)));
}

static acu_op *plan_offsets(acu_planning *p)
{
    const kind *k = &kinds[OFFSETS];
    const request *r = p->data;
    acu_op *failed = check(p, k);
    if (!failed)
        failed = check_indices(p, k, false);
    if (failed)
        return failed;
    if (r->rows < 1)
        return refuse(p, k, ACU_ERR_INVALID, 0, "are of a matrix without any");
    failed = check_count(p, k, r->rows);
    if (!failed)
        failed = check_count(p, k, extent(p, 0, 0));
    if (failed)
        return failed;
    acu_dtype index = acu_tensor_dtype(p->values[0].tensor);
    acu_op *each = acu_op_arange(index, 0, (double)(r->rows + 1), 1, p->site);
    return acui_into(p, acu_op_convert(acu_op_searchsorted(dense(p, 0), each, false, p->site),
                                       index, p->site));
}

static acu_op *plan_sort(acu_planning *p)
{
    const kind *k = &kinds[SORT];
    const request *r = p->data;
    acu_op *all[3], *failed = check(p, k);
    if (!failed)
        failed = check_indices(p, k, true);
    if (!failed)
        failed = check_lengths(p, k, 0);
    if (failed)
        return failed;
    if (r->cols < 1)
        return refuse(p, k, ACU_ERR_INVALID, 1, "are of a matrix without any");
    acu_op *keys = place(p, wide(p, 0), r->cols, wide(p, 1));
    acu_op *order = acu_op_argsort(keys, 0, ACU_ASCENDING, p->site);
    for (size_t i = 0; i < 3; i++)
        all[i] = acu_op_index_select(value(p, i), 0, i < 2 ? acu_op_retain(order) : order,
                                     p->site);
    return acu_op_zip(all, 3, p->site);
}

/* ---- dense matrices -------------------------------------------------------------------------- */

static acu_op *plan_dense(acu_planning *p)
{
    const kind *k = &kinds[DENSE];
    const request *r = p->data;
    acu_dtype dtype;
    acu_op *failed = check(p, k);
    if (!failed)
        failed = check_indices(p, k, true);
    if (!failed)
        failed = check_lengths(p, k, 0);
    if (failed)
        return failed;
    if (r->rows < 1 || r->cols < 1 || r->rows > INT64_MAX / r->cols)
        return refuse(p, k, ACU_ERR_INVALID, 0, "are of a matrix of no such size");
    dtype = acu_tensor_dtype(p->values[2].tensor);
    acu_op *zeros = acu_op_zeros(dtype, ACU_SHAPE(r->rows * r->cols), p->site);
    acu_op *places = place(p, wide(p, 0), r->cols, wide(p, 1));
    acu_op *flat = acu_op_index_put(ACU_SCATTER_ADD, zeros, 0, places, value(p, 2), p->site);
    return acui_view_into(p, reshape(p, flat, ACU_SHAPE(r->rows, r->cols)));
}

/* What of a matrix is not 0, in i64: the offsets of its rows, the columns, and the places in the
 * whole of it. */
typedef struct compressed {
    acu_op *offsets, *columns, *places;
} compressed;

/* How many elements come before each row. */
static acu_op *offsets_of(const acu_planning *p, acu_op *matrix)
{
    acu_op *there = acu_op_convert(acu_op_convert(matrix, ACU_BOOL, p->site), ACU_I64, p->site);
    acu_op *counts = acu_op_reduce(ACU_REDUCE_SUM, there, ACU_DIMS(1), p->site);
    acu_op *parts[] = {acu_op_zeros(ACU_I64, ACU_SHAPE(1), p->site),
                       acu_op_scan(ACU_SCAN_SUM, counts, 0, p->site)};
    return acu_op_concat(0, parts, 2, p->site);
}

/* The first `count` elements, of rows of `cols`. */
static compressed compress(const acu_planning *p, acu_op *matrix, int64_t cols, int64_t count)
{
    acu_op *found = acu_op_nth(acu_op_nonzero(acu_op_retain(matrix), p->site), 0, p->site);
    acu_op *some = acu_op_slice(found, ACU_SHAPE(0, 0), ACU_SHAPE(count, 2), ACU_NO_STEP, p->site);
    acu_op *row = acu_op_select(acu_op_retain(some), 1, 0, p->site);
    acu_op *column = acu_op_dup(acu_op_select(some, 1, 1, p->site), p->site);
    return (compressed){.offsets = offsets_of(p, matrix),
                        .places = place(p, row, cols, acu_op_retain(column)),
                        .columns = column};
}

static acu_op *plan_compress(acu_planning *p)
{
    const kind *k = &kinds[COMPRESS];
    int64_t count = ((const request *)p->data)->rows;
    acu_op *failed = check(p, k);
    if (failed)
        return failed;
    int64_t most = extent(p, 0, 0) * extent(p, 0, 1);
    if (count < 1 || count > most)
        return refuse(p, k, ACU_ERR_INVALID, 0, "has no such number of elements");
    compressed c = compress(p, value(p, 0), extent(p, 0, 1), count);
    acu_op *flat = reshape(p, dense(p, 0), ACU_SHAPE(most));
    acu_op *all[] = {c.offsets, c.columns, acu_op_index_select(flat, 0, c.places, p->site)};
    return acu_op_zip(all, 3, p->site);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static acu_op *check_blocks(const acu_planning *p, const kind *k, int64_t cols)
{
    acu_op *failed = check(p, k);
    if (!failed)
        failed = check_indices(p, k, true);
    if (failed)
        return failed;
    int64_t size = extent(p, 2, 1);
    if (extent(p, 2, 2) != size)
        return refuse(p, k, ACU_ERR_SHAPE, 2, "must be square");
    if (extent(p, 0, 0) < 2)
        return refuse(p, k, ACU_ERR_SHAPE, 0,
                      "must have one element more than the matrix has rows of blocks");
    if (cols < size || cols % size != 0)
        return refuse(p, k, ACU_ERR_SHAPE, 2, "do not divide the columns of the matrix");
    failed = check_count(p, k, extent(p, 1, 0));
    return failed ? failed : check_lengths(p, k, 1);
}

static acu_op *plan_blocks(acu_planning *p)
{
    const kind *k = &kinds[BLOCKS];
    int64_t cols = ((const request *)p->data)->cols;
    acu_op *failed = check_blocks(p, k, cols);
    if (failed)
        return failed;
    int64_t count = extent(p, 1, 0), size = extent(p, 2, 1);
    int64_t rows = extent(p, 0, 0) - 1, across = cols / size;
    acu_dtype dtype = acu_tensor_dtype(p->values[2].tensor);
    acu_op *zeros = acu_op_zeros(dtype, ACU_SHAPE(rows * across, size, size), p->site);
    acu_op *places = place(p, rows_of(p, count, ACU_I64), across, wide(p, 1));
    acu_op *all = acu_op_index_put(ACU_SCATTER_ADD, zeros, 0, places, value(p, 2), p->site);
    all = reshape(p, all, ACU_SHAPE(rows, across, size, size));
    all = acu_op_dup(acu_op_transpose(all, 1, 2, p->site), p->site);
    return acui_view_into(p, reshape(p, all, ACU_SHAPE(rows * size, cols)));
}

/* Blocks of a dense matrix: those in which anything is not 0. */
static acu_op *plan_cut(acu_planning *p)
{
    const kind *k = &kinds[CUT];
    const request *r = p->data;
    int64_t size = r->cols, count = r->rows;
    acu_op *failed = check(p, k);
    if (failed)
        return failed;
    int64_t height = extent(p, 0, 0), width = extent(p, 0, 1);
    if (size < 1 || height % size != 0 || width % size != 0)
        return refuse(p, k, ACU_ERR_SHAPE, 0, "can not be divided into blocks of this size");
    int64_t down = height / size, across = width / size;
    if (count < 1 || count > down * across)
        return refuse(p, k, ACU_ERR_INVALID, 0, "has no such number of blocks");
    acu_op *cut = reshape(p, dense(p, 0), ACU_SHAPE(down, size, across, size));
    cut = acu_op_dup(acu_op_transpose(cut, 1, 2, p->site), p->site);
    cut = reshape(p, cut, ACU_SHAPE(down * across, size, size));
    acu_op *there = acu_op_convert(acu_op_convert(acu_op_retain(cut), ACU_BOOL, p->site), ACU_I64,
                                   p->site);
    there = acu_op_reduce(ACU_REDUCE_MAX, there, ACU_DIMS(1, 2), p->site);
    compressed c = compress(p, reshape(p, there, ACU_SHAPE(down, across)), across, count);
    acu_op *all[] = {c.offsets, c.columns, acu_op_index_select(cut, 0, c.places, p->site)};
    return acu_op_zip(all, 3, p->site);
}

/* Each block times its rows of x; and the sums of these along rows of blocks, which is a product
 * with a sparse matrix of ones. */
static acu_op *plan_product(acu_planning *p)
{
    const kind *k = &kinds[PRODUCT];
    int64_t cols = ((const request *)p->data)->cols;
    acu_op *failed = check_blocks(p, k, cols);
    if (failed)
        return failed;
    int64_t count = extent(p, 1, 0), size = extent(p, 2, 1), rows = extent(p, 0, 0) - 1;
    bool matrix = acu_tensor_shape(p->values[3].tensor).rank == 2;
    int64_t width = matrix ? extent(p, 3, 1) : 1;
    acu_dtype dtype = acu_tensor_dtype(p->values[2].tensor);
    acu_dtype index = acu_tensor_dtype(p->values[0].tensor);
    if (acu_tensor_dtype(p->values[3].tensor) != dtype)
        return refuse(p, k, ACU_ERR_DTYPE, 3, "must have the dtype of the blocks");
    if (extent(p, 3, 0) != cols)
        return refuse(p, k, ACU_ERR_SHAPE, 3, "must have as many rows as the matrix has columns");
    acu_op *x = reshape(p, dense(p, 3), ACU_SHAPE(cols / size, size, width));
    acu_op *parts = acu_op_matmul(value(p, 2), acu_op_index_select(x, 0, value(p, 1), p->site),
                                  p->site);
    acu_op *sums = acu_op_csr_matmul(
        dense(p, 0), acu_op_arange(index, 0, (double)count, 1, p->site),
        acu_op_convert(acu_op_ones(ACU_F32, ACU_SHAPE(count), p->site), dtype, p->site), count,
        reshape(p, parts, ACU_SHAPE(count, size * width)), p->site);
    return acui_view_into(p, reshape(p, sums, matrix ? ACU_SHAPE(rows * size, width)
                                                : ACU_SHAPE(rows * size)));
}

/* ---- constructing ---------------------------------------------------------------------------- */

static acu_op *make(int which, request r, acu_op *const *operands, acu_site site)
{
    const kind *k = &kinds[which];
    acu_custom custom = {.name = k->name, .fn = k->fn, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, operands, k->count, site);
}

acu_op *acu_op_csr_to_rows(acu_op *offsets, acu_op *columns, acu_site site)
{
    return make(ROWS, (request){0}, (acu_op *const[]){offsets, columns}, site);
}

acu_op *acu_op_coo_to_offsets(acu_op *rows, int64_t row_count, acu_site site)
{
    return make(OFFSETS, (request){.rows = row_count}, &rows, site);
}

acu_op *acu_op_coo_sort(acu_op *rows, acu_op *columns, acu_op *values, int64_t cols, acu_site site)
{
    return make(SORT, (request){.cols = cols}, (acu_op *const[]){rows, columns, values}, site);
}

acu_op *acu_op_coo_to_dense(acu_op *rows, acu_op *columns, acu_op *values, int64_t row_count,
                            int64_t cols, acu_site site)
{
    return make(DENSE, (request){.rows = row_count, .cols = cols},
                (acu_op *const[]){rows, columns, values}, site);
}

acu_op *acu_op_dense_to_csr(acu_op *x, int64_t count, acu_site site)
{
    return make(COMPRESS, (request){.rows = count}, &x, site);
}

acu_op *acu_op_bsr_to_dense(acu_op *offsets, acu_op *columns, acu_op *blocks, int64_t cols,
                            acu_site site)
{
    return make(BLOCKS, (request){.cols = cols}, (acu_op *const[]){offsets, columns, blocks},
                site);
}

acu_op *acu_op_dense_to_bsr(acu_op *x, int64_t size, int64_t count, acu_site site)
{
    return make(CUT, (request){.rows = count, .cols = size}, &x, site);
}

acu_op *acu_op_bsr_matmul(acu_op *offsets, acu_op *columns, acu_op *blocks, int64_t cols,
                          acu_op *x, acu_site site)
{
    return make(PRODUCT, (request){.cols = cols}, (acu_op *const[]){offsets, columns, blocks, x},
                site);
}
