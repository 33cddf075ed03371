/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Running sums and the like: how rows are cut, and one or two launches. */
#include "ops/ops.h"

#include "ops/scan/params.h"

#include <acuda/scan.h>

#include <stdio.h>

static const char *const names[] = {"cumsum", "cumprod", "cummax", "cummin"};

typedef struct request {
    acu_scan_kind kind;
    int dimension;
} request;

/* Few rows are cut into chunks, so that there are enough blocks. */
static void cut_rows(acui_scan *p)
{
    const int64_t enough = 2048, least = 2 * ACUI_SCAN_TILE;
    const acui_lines *rows = &p->rows;
    int64_t chunks = enough / rows->rows, most = rows->count / least;
    chunks = chunks < most ? chunks : most;
    chunks = chunks < 1 ? 1 : chunks;
    p->chunk = acui_parts(acui_parts(rows->count, chunks), ACUI_SCAN_TILE) * ACUI_SCAN_TILE;
    p->even = rows->stride[0] == 1 && rows->stride[1] == 1;
    for (int d = 0; d < rows->kept.rank; d++)
        if (rows->kept.dim[d] > 1 &&
            ((rows->at[0].stride[d] | rows->at[1].stride[d]) & (ACUI_SCAN_PACK - 1)))
            p->even = 0;
}

static void cut_columns(acui_scan *p)
{
    const int64_t enough = 1 << 19, least = 64; /* threads; elements of a chunk */
    int64_t chunks = enough / p->rows.rows, most = p->rows.count / least;
    chunks = chunks < most ? chunks : most;
    p->chunk = acui_parts(p->rows.count, chunks < 1 ? 1 : chunks);
}

/* Of complex numbers, the parts are added up by themselves: there are twice as many rows. */
static void take_apart(acui_scan *p)
{
    acui_lines *rows = &p->rows;
    int64_t dims[ACUI_RANK];
    const int rank = rows->kept.rank; /* one less than the tensor's, or 1 */
    for (int d = 0; d < rank; d++)
        dims[d] = rows->kept.dim[d];
    for (int k = 0; k < 2; k++) {
        for (int d = 0; d < rank; d++)
            rows->at[k].stride[d] *= 2;
        rows->at[k].stride[rank] = 1;
        rows->stride[k] *= 2;
    }
    dims[rank] = 2;
    acui_index_make(&rows->kept, rank + 1, dims);
    rows->rows *= 2;
    p->dtype = p->out_dtype = (int)acui_part_of((acu_dtype)p->dtype);
}

/* `class`: of the kernel; 'z': products of complex numbers, by threads that go along a row. */
static acu_op *launch(acu_planning *p, const char *name, acui_scan *params, acu_op *out, char class)
{
    const acui_lines *rows = &params->rows;
    const bool columns = class == 'z' || (rows->at[1].stride[rows->kept.rank - 1] == 1 &&
                                          rows->stride[1] != 1 && rows->rows >= ACUI_BLOCK);
    const char *family = class == 'z' ? "acuda.complex_sums" : "acuda.scan";
    char kernel[16];
    snprintf(kernel, sizeof kernel, "scan_%s_%c", columns ? "columns" : "rows", class);
    (columns ? cut_columns : cut_rows)(params);
    params->chunks = acui_parts(rows->count, params->chunk);
    const int64_t units = rows->rows * params->chunks;
    const int64_t blocks = acui_blocks(units, columns ? ACUI_BLOCK : 1);
    acu_arg totals = acu_u64(0), x = acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ);
    if (params->chunks > 1) {
        acu_shape parts = ACU_SHAPE(class == 'z' ? 2 * units : units);
        acu_op *empty = acu_op_named(acu_op_empty(ACU_F64, parts, p->site), name);
        const acu_arg args[] = {acu_u64(0), x, acu_arg_op(empty, ACU_WRITE),
                                acu_arg_struct(params, sizeof *params)};
        acu_op *first = acui_launch(p, name, family, kernel, blocks, args, 4);
        x = acu_arg_op(acu_op_nth(acu_op_retain(first), 1, p->site), ACU_READ);
        totals = acu_arg_op(acu_op_nth(first, 2, p->site), ACU_READ);
    }
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE), x, totals,
                            acu_arg_struct(params, sizeof *params)};
    return acui_run(p, name, family, kernel, blocks, args, 4);
}

/* The operand, if it has a dtype that this kind of scan takes. */
static const acu_tensor *operand(acu_planning *p, const request *r, acu_op **failed)
{
    const char *name = names[r->kind];
    const acu_tensor *x = acui_tensor_operand(p, name, 0, failed);
    char words[ACUI_OPS_WORDS];
    if (!x || !acui_is_complex(acu_tensor_dtype(x)))
        return x ? acui_number_operand(p, name, 0, failed) : NULL;
    if (r->kind <= ACU_SCAN_PROD)
        return x;
    *failed = acu_op_fail(ACU_ERR_DTYPE, name, p->site, "%s of %s: complex numbers have no order",
                          name, acui_value_words(&p->values[0], words));
    return NULL;
}

static acu_op *plan_scan(acu_planning *p)
{
    const request *r = p->data;
    const char *name = names[r->kind];
    acu_op *failed = NULL;
    const acu_tensor *x = operand(p, r, &failed);
    if (!x)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(x), to = dtype;
    acu_shape shape = acu_tensor_shape(x);
    int dimension = acui_dimension(r->dimension, shape.rank);
    if (dimension < 0)
        return acui_no_dimension(p, name, r->dimension);
    bool complex = acui_is_complex(dtype);
    bool real = complex || acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT;
    bool is_unsigned = acu_dtype_kind_of(dtype) == ACU_KIND_UNSIGNED;
    if (!real && r->kind < ACU_SCAN_MAX)
        to = is_unsigned ? ACU_U64 : ACU_I64;
    if (acu_shape_elements(shape) == 0)
        return acui_result(p, name, to, shape);
    acui_scan params = {.kind = (int)r->kind, .dtype = (int)dtype, .out_dtype = (int)to};
    params.turn =
        (dtype == ACU_U64 ? (uint64_t)1 << 63 : 0) ^ (r->kind == ACU_SCAN_MIN ? UINT64_MAX : 0);
    acui_lines_init(&params.rows, shape, dimension, (const acu_tensor *[]){p->out.tensor, x}, 2);
    acu_op *out = acui_result(p, name, to, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    if (complex && r->kind == ACU_SCAN_SUM)
        take_apart(&params);
    char class = complex && r->kind == ACU_SCAN_PROD ? 'z' : real ? 'd' : 'l';
    return launch(p, name, &params, out, class);
}

acu_op *acu_op_scan(acu_scan_kind kind, acu_op *x, int dimension, acu_site site)
{
    if ((unsigned)kind > ACU_SCAN_MIN) {
        acu_op_release(x);
        return acu_op_fail(ACU_ERR_INVALID, "scan", site, "%d is no kind of scan", (int)kind);
    }
    request r = {kind, dimension};
    acu_custom custom = {.name = names[kind], .fn = plan_scan, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, &x, 1, site);
}
