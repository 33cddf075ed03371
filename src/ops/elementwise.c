/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Elementwise operations: which operands each one takes, and the launch that does it. One custom op
 * serves all kinds; the kernel is told the kind (kernels/elementwise.cuh).
 */
#include "ops/ops.h"

#include <stdio.h>

enum of { FLOAT, NUMBER, INTEGER, BITS, ANY, FLOAT_C, NUMBER_C, ANY_C, COMPLEX, PARTS };
enum result { SAME, BOOL, PART, WHOLE };

static const struct {
    const char *name;
    size_t operands;
    enum of of;
    enum result result;
} kinds[] = {
#define ACU_X(id, name, operands, of, result) {name, operands, of, result},
    ACU_ELEMENTWISE_OPS(ACU_X)
#undef ACU_X
};

const char *acu_elementwise_name(acu_elementwise kind)
{
    return (unsigned)kind < ACU_ELEMENTWISE_COUNT ? kinds[kind].name : "?";
}

/* ---- what fits ------------------------------------------------------------------------------- */

/* What is found out about one operation. */
typedef struct plan {
    acu_planning *p;
    acu_elementwise kind;
    const char *name;
    acu_dtype dtype; /* of all operands except a condition */
    acu_shape shape;
    acui_elementwise params;
} plan;

static bool takes(enum of of, acu_dtype dtype)
{
    bool real = acui_class_of(dtype) == 'f' || acui_class_of(dtype) == 'd';
    if (acui_is_complex(dtype))
        return of >= FLOAT_C && of <= COMPLEX;
    switch (of) {
    case COMPLEX:
        return false;
    case PARTS:
        return dtype == ACU_F32 || dtype == ACU_F64;
    case FLOAT:
    case FLOAT_C:
        return real;
    case NUMBER:
    case NUMBER_C:
        return acui_class_of(dtype) && dtype != ACU_BOOL;
    case INTEGER:
        return acui_class_of(dtype) && !real && dtype != ACU_BOOL;
    case BITS:
        return acui_class_of(dtype) && !real;
    default:
        return acui_class_of(dtype);
    }
}

static const char *of_words(enum of of)
{
    static const char *const words[] = {"floating point (f16, bf16, f32, f64)",
                                        "numbers (floating point or integers)", "integers",
                                        "integers and bool",
                                        "numbers and bool",
                                        "floating point (f16, bf16, f32, f64) and complex numbers",
                                        "numbers (floating point, complex or integers)",
                                        "numbers and bool",
                                        "complex numbers (c64, c128)",
                                        "f32 or f64"};
    return words[of];
}

/* What to say of the dtype besides: why there is no such operation, or what to do; "": nothing. */
static const char *hint(acu_elementwise kind, acu_dtype dtype)
{
    bool orders = kind == ACU_OP_MIN || kind == ACU_OP_MAX || kind == ACU_OP_CLAMP ||
                  (kind >= ACU_OP_LT && kind <= ACU_OP_GE);
    if (dtype == ACU_BOOL)
        return "; acu_convert makes numbers of it";
    return orders && acui_is_complex(dtype) ? ": complex numbers have no order" : "";
}

/* Returns a failed op if operand i does not fit those before it, else NULL. */
static acu_op *check_tensor(plan *e, size_t i)
{
    const acu_val *value = &e->p->values[i];
    char words[ACUI_OPS_WORDS];
    acu_dtype dtype = acu_tensor_dtype(value->tensor);
    if (!acui_broadcast(&e->shape, acu_tensor_shape(value->tensor))) {
        char shape[ACUI_OPS_WORDS];
        return acu_op_fail(ACU_ERR_SHAPE, e->name, e->p->site, "%s: operand %zu is %s, which does "
                           "not broadcast with %s of those before it", e->name, i,
                           acui_value_words(value, words),
                           acui_words(e->dtype ? e->dtype : dtype, e->shape, shape));
    }
    bool condition = e->kind == ACU_OP_WHERE && i == 0;
    if (condition && dtype != ACU_BOOL)
        return acu_op_fail(ACU_ERR_DTYPE, e->name, e->p->site,
                           "where: the condition is %s, and must be of bool",
                           acui_value_words(value, words));
    if (condition)
        return NULL;
    if (!takes(kinds[e->kind].of, dtype))
        return acu_op_fail(ACU_ERR_DTYPE, e->name, e->p->site, "%s takes %s; operand %zu is %s%s",
                           e->name, of_words(kinds[e->kind].of), i, acui_value_words(value, words),
                           hint(e->kind, dtype));
    if (e->dtype && dtype != e->dtype)
        return acu_op_fail(ACU_ERR_DTYPE, e->name, e->p->site, "%s: operand %zu is %s, but one "
                           "before it is of %s; acu_convert makes them equal", e->name, i,
                           acui_value_words(value, words),
                           acu_dtype_name(e->dtype));
    e->dtype = dtype;
    return NULL;
}

static acu_op *check(plan *e)
{
    char words[ACUI_OPS_WORDS];
    bool any = false;
    for (size_t i = 0; i < e->p->count; i++) {
        const acu_val *value = &e->p->values[i];
        if (value->kind == ACU_SCALAR)
            continue;
        if (value->kind != ACU_TENSOR)
            return acu_op_fail(ACU_ERR_INVALID, e->name, e->p->site, "%s: operand %zu is %s, and "
                               "must be a tensor or a number", e->name, i,
                               acui_value_words(value, words));
        if (!any)
            e->shape = acu_tensor_shape(value->tensor);
        any = true;
        acu_op *failed = check_tensor(e, i);
        if (failed)
            return failed;
    }
    if (!any || !e->dtype)
        return acu_op_fail(ACU_ERR_INVALID, e->name, e->p->site, "%s of numbers only: %s must be a "
                           "tensor", e->name,
                           any ? "one of the values to choose from" : "one operand");
    return NULL;
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* `where` only moves bits, except of bool: the kernel is told the integer dtype of the same
 * size. */
static int stored_as(const plan *e, acu_dtype dtype)
{
    static const acu_dtype words[] = {
        [1] = ACU_U8, [2] = ACU_U16, [4] = ACU_I32, [8] = ACU_I64, [16] = ACU_C128};
    bool moves = e->kind == ACU_OP_WHERE && dtype != ACU_BOOL;
    return (int)(moves ? words[acu_dtype_bytes(dtype)] : dtype);
}

static acu_op *fill_scalar(plan *e, size_t i, acui_operand *at)
{
    char why[ACUI_OPS_WORDS];
    uint64_t bits[2] = {0, 0};
    const acu_val *number = &e->p->values[i];
    acu_dtype dtype = e->kind == ACU_OP_WHERE && i == 0 ? ACU_BOOL : e->dtype;
    bool fits = kinds[e->kind].result == WHOLE ? acui_scalar_bits(number, ACU_F64, bits, why)
                : e->kind == ACU_OP_WHERE      ? acui_stored_bits(number, dtype, bits, why)
                : acui_is_complex(dtype)       ? acui_scalar_parts(number, bits, why)
                                               : acui_scalar_bits(number, dtype, bits, why);
    if (!fits)
        return acu_op_fail(ACU_ERR_DTYPE, e->name, e->p->site, "%s: operand %zu: %s", e->name, i,
                           why);
    at->is_scalar = 1;
    at->scalar = bits[0];
    at->imaginary = bits[1];
    return NULL;
}

static acu_dtype result_of(const plan *e)
{
    switch (kinds[e->kind].result) {
    case BOOL:
        return ACU_BOOL;
    case PART:
        return acui_part_of(e->dtype);
    case WHOLE:
        return acui_whole_of(e->dtype);
    default:
        return e->dtype;
    }
}

static acu_op *fill_params(plan *e)
{
    acui_elementwise *p = &e->params;
    const acu_tensor *tensors[ACUI_OPERANDS] = {e->p->out.tensor};
    p->elements = acu_shape_elements(e->shape);
    p->op = (int)(e->kind == ACU_OP_INVERT && e->dtype == ACU_BOOL ? ACU_OP_NOT : e->kind);
    p->unsigned_order = e->dtype == ACU_U32 || e->dtype == ACU_U64;
    p->at[0].dtype = stored_as(e, result_of(e));
    for (size_t i = 0; i < e->p->count; i++) {
        const acu_val *value = &e->p->values[i];
        acui_operand *at = &p->at[1 + i];
        at->dtype = stored_as(e, e->dtype);
        tensors[1 + i] = value->tensor;
        if (value->tensor && e->kind == ACU_OP_WHERE && i == 0)
            at->dtype = ACU_BOOL;
        acu_op *failed = value->tensor ? NULL : fill_scalar(e, i, at);
        if (failed)
            return failed;
    }
    acui_layout(&p->index, p->at, e->shape, tensors, (int)e->p->count + 1);
    p->linear = acui_is_linear(&p->index, p->at, (int)e->p->count + 1);
    return NULL;
}

/* The class of kernels that do it; 'z': kernels/complex.cu. */
static char class_of(const plan *e)
{
    const size_t bytes = acu_dtype_bytes(e->dtype);
    if (e->kind == ACU_OP_WHERE)
        return bytes == 16 ? 'z' : bytes == 8 ? 'l' : 'i';
    return acui_is_complex(e->dtype) || kinds[e->kind].result == WHOLE ? 'z'
                                                                       : acui_class_of(e->dtype);
}

static acu_op *launch(plan *e, acu_op *out)
{
    static const char *const arity[] = {"", "unary", "binary", "ternary"};
    char class = class_of(e), family[32], kernel[32];
    snprintf(family, sizeof family, "acuda.elementwise_%c", class);
    /* from sqrt to erf in the list of kinds */
    bool function = (e->kind >= ACU_OP_SQRT && e->kind <= ACU_OP_ERF) ||
                    (class == 'z' && (e->kind == ACU_OP_ABS || e->kind == ACU_OP_SIGN ||
                                      e->kind == ACU_OP_ANGLE));
    snprintf(kernel, sizeof kernel, "%s_%c", function ? "function" : arity[e->p->count], class);
    acu_arg args[2 + 3];
    size_t count = 0;
    args[count++] = acu_arg_op(out, ACU_WRITE);
    for (size_t i = 0; i < e->p->count; i++)
        args[count++] = e->p->values[i].tensor
                            ? acu_arg_op(acu_op_take(&e->p->values[i], e->p->site), ACU_READ)
                            : acu_u64(0);
    args[count++] = acu_arg_struct(&e->params, sizeof e->params);
    int64_t vector = class == 'f' || class == 'i' ? 4 : class == 'z' ? 1 : 2;
    int64_t unroll = function ? ACUI_FUNCTION_UNROLL : ACUI_UNROLL;
    int64_t blocks = acui_blocks(e->params.elements, vector * unroll * ACUI_BLOCK);
    return acui_run(e->p, e->name, family, kernel, blocks, args, count);
}

static acu_op *plan_elementwise(acu_planning *p)
{
    acu_elementwise kind = *(const acu_elementwise *)p->data;
    plan e = {.p = p, .kind = kind, .name = kinds[kind].name};
    acu_op *failed = check(&e);
    acu_dtype result = result_of(&e);
    if (!failed && acu_shape_elements(e.shape) < 0)
        return acui_result(p, e.name, result, e.shape); /* which says that there are too many
                                                         * elements */
    if (!failed)
        failed = fill_params(&e);
    if (failed)
        return failed;
    acu_op *out = acui_result(p, e.name, result, e.shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    return launch(&e, out);
}

static acu_op *refuse(acu_elementwise kind, acu_op *const *operands, size_t count, acu_site site)
{
    for (size_t i = 0; operands && i < count; i++)
        acu_op_release(operands[i]);
    if ((unsigned)kind >= ACU_ELEMENTWISE_COUNT)
        return acu_op_fail(ACU_ERR_INVALID, "elementwise", site,
                           "there is no elementwise operation "
                           "%d",
                           (int)kind);
    return acu_op_fail(ACU_ERR_ARGUMENTS, kinds[kind].name, site,
                       "%s takes %zu operand%s, and got %zu", kinds[kind].name,
                       kinds[kind].operands, kinds[kind].operands == 1 ? "" : "s", count);
}

acu_op *acu_op_elementwise(acu_elementwise kind, acu_op *const *operands, size_t count,
                           acu_site site)
{
    if ((unsigned)kind >= ACU_ELEMENTWISE_COUNT || count != kinds[kind].operands)
        return refuse(kind, operands, count, site);
    acu_custom custom = {.name = kinds[kind].name,
                         .fn = plan_elementwise,
                         .data = &kind,
                         .bytes = sizeof kind};
    return acu_op_custom(custom, operands, count, site);
}
