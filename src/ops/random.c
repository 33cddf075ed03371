/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random numbers: rand, randn and integers. Each element depends on the seed and its own number
 * only, so results are the same however the work is cut.
 */
#include "ops/ops.h"

typedef struct request {
    const char *name;
    acu_dtype dtype;
    acu_shape shape;
    acui_random params;
} request;

/* ---- where the sequence is ------------------------------------------------------------------ */

static acu_op *refuse_offset(acu_planning *p, const char *name)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(ACU_ERR_INVALID, name, p->site,
                       "the offset is %s, and must be an integer, or i64 of one element",
                       acui_value_words(&p->values[0], words));
}

/* The number of the first element; *at: as an op, if the kernel is to read it. */
static acu_op *read_offset(acu_planning *p, const char *name, acui_random *params, acu_op **at)
{
    const acu_val *offset = &p->values[0];
    char why[ACUI_OPS_WORDS];
    uint64_t bits = 0;
    *at = NULL;
    if (offset->kind == ACU_TENSOR) {
        if (acu_tensor_dtype(offset->tensor) != ACU_I64 || acu_tensor_elements(offset->tensor) != 1)
            return refuse_offset(p, name);
        *at = acu_op_take(&p->values[0], p->site);
        return NULL;
    }
    if (offset->kind != ACU_SCALAR || !acui_scalar_bits(offset, ACU_I64, &bits, why))
        return refuse_offset(p, name);
    params->offset = (int64_t)bits;
    if (params->offset < 0 || params->offset > INT64_MAX - params->elements)
        return acu_op_fail(ACU_ERR_INVALID, name, p->site,
                           "%s: %lld elements from number %lld on; a sequence goes from number 0 "
                           "to %lld", name, (long long)params->elements, (long long)params->offset,
                           (long long)INT64_MAX - 1);
    return NULL;
}

/* ---- making them ---------------------------------------------------------------------------- */

static acu_op *plan_random(acu_planning *p)
{
    request r = *(const request *)p->data;
    acu_op *at;
    char class = acui_class_of(r.dtype), kernel[] = "random_?";
    class = class == 'i' ? 'l' : class;
    kernel[7] = class;
    r.params.elements = acu_shape_elements(r.shape);
    r.params.out.dtype = (int)r.dtype;
    acui_layout(&r.params.index, &r.params.out, r.shape, (const acu_tensor *[]){p->out.tensor}, 1);
    r.params.linear = acui_is_linear(&r.params.index, &r.params.out, 1);
    acu_op *out = acui_result(p, r.name, r.dtype, r.shape); /* before the offset is taken */
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    acu_op *failed = read_offset(p, r.name, &r.params, &at);
    if (failed) {
        acu_op_release(out);
        return failed;
    }
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            at ? acu_arg_op(at, ACU_READ) : acu_u64(0),
                            acu_arg_struct(&r.params, sizeof r.params)};
    return acui_run(p, r.name, "acuda.random", kernel,
                    acui_blocks(r.params.elements, (class == 'f' ? 16 : 2) * ACUI_BLOCK), args, 3);
}

static acu_op *make(const request *r, acu_op *offset, acu_site site)
{
    if (acu_shape_elements(r->shape) < 0) { /* acu_op_empty says what is wrong with the shape */
        acu_op_release(offset);
        return acu_op_named(acu_op_empty(r->dtype, r->shape, site), r->name);
    }
    acu_custom custom = {.name = r->name, .fn = plan_random, .data = r, .bytes = sizeof *r};
    return acu_op_custom(custom, &offset, 1, site);
}

static acu_op *real(const char *name, acu_dtype dtype, acu_shape shape, bool normal, uint64_t seed,
                    acu_op *offset, acu_site site)
{
    if (acui_class_of(dtype) != 'f' && acui_class_of(dtype) != 'd') {
        acu_op_release(offset);
        return acu_op_fail(ACU_ERR_DTYPE, name, site,
                           "%s of %s: f32, f64, f16 and bf16 can be made", name,
                           acu_dtype_name(dtype));
    }
    request r = {.name = name,
                 .dtype = dtype,
                 .shape = shape,
                 .params = {.seed = seed, .normal = normal}};
    return make(&r, offset, site);
}

acu_op *acu_op_rand(acu_dtype dtype, acu_shape shape, uint64_t seed, acu_op *offset, acu_site site)
{
    return real("rand", dtype, shape, false, seed, offset, site);
}

acu_op *acu_op_randn(acu_dtype dtype, acu_shape shape, uint64_t seed, acu_op *offset, acu_site site)
{
    return real("randn", dtype, shape, true, seed, offset, site);
}

/* Whether the dtype, an integer or bool, holds all numbers from low to high - 1. */
static bool holds(acu_dtype dtype, int64_t low, int64_t high)
{
    int bits = dtype == ACU_BOOL ? 1 : (int)acu_dtype_bytes(dtype) * 8;
    bool sign = acu_dtype_kind_of(dtype) == ACU_KIND_SIGNED;
    int value_bits = sign ? bits - 1 : bits;
    if (value_bits >= 63)
        return sign || low >= 0;
    int64_t end = (int64_t)1 << value_bits;
    return low >= (sign ? -end : 0) && high <= end;
}

/* NULL: these can be made. */
static acu_op *check_integers(acu_dtype dtype, int64_t low, int64_t high, acu_site site)
{
    if (acui_class_of(dtype) != 'i' && acui_class_of(dtype) != 'l')
        return acu_op_fail(ACU_ERR_DTYPE, "randint", site, "randint of %s: integers can be made",
                           acu_dtype_name(dtype));
    if (low >= high)
        return acu_op_fail(ACU_ERR_INVALID, "randint", site,
                           "randint from %lld to before %lld: there "
                           "is no such number",
                           (long long)low, (long long)high);
    if (!holds(dtype, low, high))
        return acu_op_fail(ACU_ERR_INVALID, "randint", site,
                           "randint from %lld to before %lld: %s does not have all these numbers",
                           (long long)low, (long long)high, acu_dtype_name(dtype));
    return NULL;
}

acu_op *acu_op_randint(acu_dtype dtype, acu_shape shape, int64_t low, int64_t high, uint64_t seed,
                       acu_op *offset, acu_site site)
{
    acu_op *failed = check_integers(dtype, low, high, site);
    if (failed) {
        acu_op_release(offset);
        return failed;
    }
    request r = {.name = "randint",
                 .dtype = dtype,
                 .shape = shape,
                 .params = {.seed = seed,
                            .low = low,
                            .range = (uint64_t)high - (uint64_t)low}};
    return make(&r, offset, site);
}
