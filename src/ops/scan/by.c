/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Scans by an operation of the program's: an expression of a and b (fused.c), and around it a
 * kernel that combines in an order that follows from the shape. A block scans a chunk of a row,
 * tile after tile; where a row has several chunks, an earlier launch finds their totals.
 */
#include "base/error.h"
#include "base/object.h"
#include "ops/expression.h"
#include "ops/scan/params.h"

#include <acuda/scan.h>

#include <string.h>

static const char name[] = "scan";

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

/* In terms of what a use of an expression is given (expression.h). `before` makes
 * of each thread's total what is before it, and of the carry the total of the block. */
static const char code[] = TEXT(ACUI_LINES_TYPE) "\n" TEXT(ACUI_SCAN_BY_TYPE) "\n"
    "enum { THREADS = 256, WARPS = THREADS / 32, ITEMS = " TEXT(ACUI_SCAN_BY_ITEMS) ",\n"
    "       TILE = THREADS * ITEMS, PITCH = ITEMS + 1 };\n"
    "INLINE E both(E a, E b)\n"
    "{ E v[2]; v[PLACE_a] = a; v[PLACE_b] = b; return value(v); }\n"
    "INLINE long long place(const acui_lines &r, int k, long long i)\n"
    "{\n"
    "    long long offset = 0;\n"
    "    for (int d = r.kept.rank - 1; d >= 0; d--) {\n"
    "        const long long q = d == 0 ? 0 : i / r.kept.dim[d];\n"
    "        offset += (i - q * r.kept.dim[d]) * r.at[k].stride[d];\n"
    "        i = q;\n"
    "    }\n"
    "    return offset;\n"
    "}\n"
    "INLINE void before(E &own, E &carry)\n"
    "{\n"
    "    __shared__ E totals[WARPS];\n"
    "    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
    "    E sum = own, start = carry;\n"
    "    for (unsigned step = 1; step < 32; step *= 2) {\n"
    "        const E other = shifted_up(sum, step);\n"
    "        sum = lane >= step ? both(other, sum) : sum;\n"
    "    }\n"
    "    const E left = shifted_up(sum, 1);\n"
    "    if (lane == 31) totals[warp] = sum;\n"
    "    __syncthreads();\n"
    "    for (unsigned w = 0; w < WARPS; w++) {\n"
    "        start = w == warp ? carry : start;\n"
    "        carry = both(carry, totals[w]);\n"
    "    }\n"
    "    own = lane ? both(start, left) : start;\n"
    "    __syncthreads();\n"
    "}\n"
    "INLINE void tile(const acui_scan_by &p, S *held, S *target, const S *source, long long i,\n"
    "                 long long end, E none, E &carry)\n"
    "{\n"
    "    const long long mine = i + (long long)threadIdx.x * ITEMS;\n"
    "    S *const held_here = held + threadIdx.x * PITCH;\n"
    "    E v[ITEMS], own = none;\n"
    "    for (int k = 0, j = (int)threadIdx.x; k < ITEMS; k++, j += THREADS)\n"
    "        if (i + j < end)\n"
    "            held[j / ITEMS * PITCH + j % ITEMS] = source[(i + j) * p.rows.stride[1]];\n"
    "    __syncthreads();\n"
    "#pragma unroll\n"
    "    for (int k = 0; k < ITEMS; k++) {\n"
    "        v[k] = mine + k < end ? from(held_here[k]) : none;\n"
    "        own = both(own, v[k]);\n"
    "    }\n"
    "    before(own, carry);\n"
    "    if (!target) return;\n"
    "#pragma unroll\n"
    "    for (int k = 0; k < ITEMS; k++) {\n"
    "        const E next = both(own, v[k]);\n"
    "        put(held_here[k], p.exclusive ? own : next);\n"
    "        own = next;\n"
    "    }\n"
    "    __syncthreads();\n"
    "    for (int k = 0, j = (int)threadIdx.x; k < ITEMS; k++, j += THREADS)\n"
    "        if (i + j < end)\n"
    "            target[(i + j) * p.rows.stride[0]] = held[j / ITEMS * PITCH + j % ITEMS];\n"
    "    __syncthreads();\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "    scan(S *out, const S *x, E *totals, acui_scan_by p)\n"
    "{\n"
    "    __shared__ S held[THREADS * PITCH];\n"
    "    const E none = to_e(p.identity[0], p.identity[1]);\n"
    "    for (long long u = blockIdx.x; u < p.rows.rows * p.chunks; u += gridDim.x) {\n"
    "        const long long row = u / p.chunks, chunk = u - row * p.chunks;\n"
    "        const long long first = chunk * p.chunk, limit = first + p.chunk;\n"
    "        const long long end = limit < p.rows.count ? limit : p.rows.count;\n"
    "        const S *source = x + place(p.rows, 1, row);\n"
    "        S *target = out ? out + place(p.rows, 0, row) : out;\n"
    "        E carry = none;\n"
    "        for (long long c = 0; out && c < chunk; c += THREADS) {\n"
    "            const long long mine = c + threadIdx.x;\n"
    "            E total = mine < chunk ? totals[row * p.chunks + mine] : none;\n"
    "            before(total, carry);\n"
    "        }\n"
    "        for (long long i = first; i < end; i += TILE)\n"
    "            tile(p, held, target, source, i, end, none, carry);\n"
    "        if (!out && threadIdx.x == 0) totals[u] = carry;\n"
    "    }\n"
    "}\n";

static const acui_expression_use scan_use = {.kernel = name, .code = code};

typedef struct request {
    int dimension;
    bool exclusive;
} request;

/* ---- the launches --------------------------------------------------------------------------- */

static void cut(acui_scan_by *p)
{
    const int64_t enough = 2048, tile = ACUI_SCAN_BY_ITEMS * ACUI_BLOCK;
    int64_t chunks = enough / p->rows.rows, most = p->rows.count / (2 * tile);
    chunks = chunks < most ? chunks : most;
    p->chunk = acui_parts(acui_parts(p->rows.count, chunks < 1 ? 1 : chunks), tile) * tile;
    p->chunks = acui_parts(p->rows.count, p->chunk);
}

static acu_op *launch(acu_planning *p, acu_kernel *kernel, const acui_scan_by *params, acu_op *out)
{
    const int64_t units = params->rows.rows * params->chunks;
    acu_config config = ACU_GRID_BLOCK(acui_blocks(units, 1), 1, 1, ACUI_BLOCK, 1, 1);
    acu_dtype x_dtype = acu_tensor_dtype(p->values[0].tensor);
    acu_dtype total = acui_is_complex(x_dtype)           ? ACU_C128
                      : acu_dtype_bytes(x_dtype) == 8 ? ACU_F64
                                                      : ACU_F32; /* as large as it is computed */
    acu_arg totals = acu_u64(0), x = acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ);
    if (params->chunks > 1) {
        acu_op *empty = acu_op_named(acu_op_empty(total, ACU_SHAPE(units), p->site), name);
        const acu_arg args[] = {acu_u64(0), x, acu_arg_op(empty, ACU_WRITE),
                                acu_arg_struct(params, sizeof *params)};
        acu_op *first = acu_op_named(acu_op_launch(kernel, &config, args, 4, p->site), name);
        x = acu_arg_op(acu_op_nth(acu_op_retain(first), 1, p->site), ACU_READ);
        totals = acu_arg_op(acu_op_nth(first, 2, p->site), ACU_READ);
    }
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE), x, totals,
                            acu_arg_struct(params, sizeof *params)};
    acu_op *op = acu_op_launch(kernel, &config, args, 4, p->site);
    return acu_op_nth(acu_op_named(op, name), 0, p->site);
}

/* ---- what fits ------------------------------------------------------------------------------ */

static acu_op *read_identity(acu_planning *p, acu_dtype dtype, acui_scan_by *params)
{
    char why[ACUI_OPS_WORDS];
    uint64_t bits[2] = {0};
    if (p->values[1].kind != ACU_SCALAR)
        return acu_op_fail(ACU_ERR_INVALID, name, p->site,
                           "scan: the identity is a number, not %s",
                           acui_value_words(&p->values[1], why));
    if (!acui_expression_bits(&p->values[1], dtype, bits, why))
        return acu_op_fail(ACU_ERR_DTYPE, name, p->site, "scan: the identity: %s", why);
    memcpy(params->identity, bits, sizeof bits);
    return NULL;
}

static acu_op *plan_scan(acu_planning *p)
{
    const request *r = p->data;
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *x = acui_tensor_operand(p, name, 0, &failed);
    if (!x)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(x);
    acu_shape shape = acu_tensor_shape(x);
    if (!acui_expression_takes(dtype))
        return acu_op_fail(ACU_ERR_DTYPE, name, p->site, "scan by an expression takes numbers, not "
                           "%s", acui_value_words(&p->values[0], words));
    acui_expression_for of = {.device = p->device, .dtype = dtype, .use = &scan_use};
    const acu_val both[] = {p->values[0], p->values[0]};
    bool complex;
    if (acui_expression_types(p->user, dtype, both, &of.complex, &complex) != ACU_OK)
        return acu_op_fail(acu_last_error()->status, name, p->site, NULL);
    int dimension = acui_dimension(r->dimension, shape.rank);
    if (dimension < 0)
        return acui_no_dimension(p, name, r->dimension);
    acui_scan_by params = {.exclusive = r->exclusive};
    failed = read_identity(p, dtype, &params);
    if (failed || acu_shape_elements(shape) == 0)
        return failed ? failed : acui_result(p, name, dtype, shape);
    acui_lines_init(&params.rows, shape, dimension, (const acu_tensor *[]){p->out.tensor, x}, 2);
    cut(&params);
    acu_kernel *kernel = NULL;
    if (acui_expression_kernel(p->user, &of, &kernel) != ACU_OK)
        return acu_op_fail(acu_last_error()->status, name, p->site, NULL);
    acu_op *out = acui_result(p, name, dtype, shape);
    acu_op *op = acu_op_status(out, NULL) == ACU_OK ? launch(p, kernel, &params, out) : out;
    acu_kernel_release(kernel);
    return op;
}

/* ---- constructing --------------------------------------------------------------------------- */

static void release(void *expression)
{
    acu_expression_release(expression);
}

/* Whether the operation is one of a and b. */
static bool is_binary(const acu_expression *operation)
{
    const char *one = acu_expression_operand(operation, 0), *two;
    if (acu_expression_operands(operation) != 2)
        return false;
    two = acu_expression_operand(operation, 1);
    return (strcmp(one, "a") == 0 && strcmp(two, "b") == 0) ||
           (strcmp(one, "b") == 0 && strcmp(two, "a") == 0);
}

acu_op *acu_op_scan_by(acu_expression *operation, acu_op *x, int dimension, acu_op *identity,
                       bool exclusive, acu_site site)
{
    acu_op *failed = NULL;
    if (acui_object_check(operation, ACU_OBJECT_EXPRESSION, "acu_scan_by") != ACU_OK)
        failed = acu_op_fail(acu_last_error()->status, name, site, NULL);
    else if (!is_binary(operation))
        failed = acu_op_fail(ACU_ERR_ARGUMENTS, name, site,
                             "scan: its operation is an expression of a and b, what is to the left "
                             "and to the right");
    if (failed) {
        acu_op_release(x);
        acu_op_release(identity);
        return failed;
    }
    request r = {dimension, exclusive};
    acu_custom custom = {.name = name,
                         .fn = plan_scan,
                         .data = &r,
                         .bytes = sizeof r,
                         .user = {acu_expression_retain(operation), release}};
    return acu_op_custom(custom, (acu_op *const[]){x, identity}, 2, site);
}
