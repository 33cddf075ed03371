/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Floating-point arithmetic: f32, f64, f16, bf16 and pairs.
 */
#include "exec/decode.h"
#include "exec/op_round.h"
#include "exec/scalar_float.h"

typedef struct shape {
    const char *name;
    unsigned sources;
} shape;

static bool is_half(ptx_type t)
{
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F16X2 || t == PTX_BF16X2;
}

static void sources(sx_decoder *d, unsigned count, ptx_type t, uint32_t s[3])
{
    s[1] = s[2] = SX_NO_OPERAND;
    for (unsigned n = 0; n < count; n++)
        s[n] = sx_use_n(d, n + 1, t);
}

static void half(sx_decoder *d, const shape *op, ptx_type t)
{
    char name[SX_NAME], flush[SX_NAME];
    uint32_t s[3];
    const char *type = ptx_type_name(t);
    const bool ftz = sx_has(d, PTX_MOD_FTZ);
    sx_join_name(flush, "ftz_", type, "");
    sources(d, op->sources, t, s);
    for (unsigned n = 0; n < op->sources && ftz; n++)
        s[n] = sx_emit1(d, flush, sx_temp(d, sx_container(t)), s[n])->o[0];
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    sx_join_name(name, op->name, "_", type);
    sx_emit3(d, name, r.operand, s[0], s[1], s[2]);
    if (ftz)
        sx_emit1(d, flush, r.operand, r.operand);
    if (sx_has(d, PTX_MOD_SAT)) {
        sx_join_name(name, "sat_", type, "");
        sx_emit1(d, name, r.operand, r.operand);
    }
    if (sx_has(d, PTX_MOD_RELU)) {
        sx_join_name(name, "relu_", type, "");
        sx_emit1(d, name, r.operand, r.operand);
    }
    sx_finish(d, &r);
}

static void single_or_double(sx_decoder *d, const shape *op, ptx_type t)
{
    char name[SX_NAME], rounded[SX_NAME];
    uint32_t s[3];
    const unsigned mode = sx_rounding(d);
    const bool ftz = sx_has(d, PTX_MOD_FTZ) && t == PTX_F32;
    sources(d, op->sources, t, s);
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    sx_join_name(name, op->name, t == PTX_F32 ? "_f32" : "_f64", "");
    if (mode != SX_RN) {
        sx_join_name(rounded, "round_", name, "");
        sx_emit3(d, rounded, r.operand, s[0], s[1], s[2])->aux = mode | (ftz ? SX_ROUND_FLUSH : 0u);
    } else {
        sx_join_name(rounded, name, ftz ? "_ftz" : "", "");
        sx_emit3(d, rounded, r.operand, s[0], s[1], s[2]);
    }
    if (sx_has(d, PTX_MOD_SAT))
        sx_emit1(d, t == PTX_F32 ? "sat_f32" : "sat_f64", r.operand, r.operand);
    sx_finish(d, &r);
}

static void arithmetic(sx_decoder *d, const char *name, unsigned count)
{
    const ptx_type t = (ptx_type)d->inst->types[0];
    const shape op = {name, count};
    if (d->inst->type_count != 1 || (!is_half(t) && t != PTX_F32 && t != PTX_F64) ||
        d->inst->operand_count != count + 1) {
        sx_refuse_inst(d);
        return;
    }
    if (is_half(t)) {
        sx_ignore(d, PTX_MOD_RN);
        half(d, &op, t);
    } else {
        single_or_double(d, &op, t);
    }
}

/* A function; approximate or not, the result is the same here: as exact as it gets. */
static void function(sx_decoder *d, const char *name, unsigned count)
{
    sx_ignore(d, PTX_MOD_APPROX);
    sx_ignore(d, PTX_MOD_FULL);
    arithmetic(d, name, count);
}

static void testp(sx_decoder *d)
{
    static const ptx_mod tests[] = {PTX_MOD_FINITE,     PTX_MOD_INFINITE, PTX_MOD_NUMBER,
                                    PTX_MOD_NOTANUMBER, PTX_MOD_NORMAL,   PTX_MOD_SUBNORMAL};
    const ptx_type t = (ptx_type)d->inst->types[0];
    for (unsigned n = 0; n < 6; n++) {
        if (!sx_has(d, tests[n]))
            continue;
        uint32_t a = sx_use_n(d, 1, t);
        sx_emit1(d, t == PTX_F64 ? "testp_f64" : "testp_f32", sx_define_pred(d, sx_operand(d, 0)),
                 a)
            ->aux = n;
        return;
    }
    sx_refuse_inst(d);
}

/* Roots, reciprocals, transcendental functions, and operations on single bits. */
static bool functions_and_bits(sx_decoder *d)
{
    switch (d->inst->op) {
    case PTX_OP_RCP:
        function(d, "rcp", 1);
        break;
    case PTX_OP_SQRT:
        function(d, "sqrt", 1);
        break;
    case PTX_OP_RSQRT:
        function(d, "rsqrt", 1);
        break;
    case PTX_OP_SIN:
        function(d, "sin", 1);
        break;
    case PTX_OP_COS:
        function(d, "cos", 1);
        break;
    case PTX_OP_EX2:
        function(d, "ex2", 1);
        break;
    case PTX_OP_LG2:
        function(d, "lg2", 1);
        break;
    case PTX_OP_TANH:
        function(d, "tanh", 1);
        break;
    case PTX_OP_COPYSIGN:
        arithmetic(d, "copysign", 2);
        break;
    case PTX_OP_TESTP:
        testp(d);
        break;
    default:
        return false;
    }
    return true;
}

bool sx_decode_float(sx_decoder *d)
{
    if (!d->inst->type_count || !ptx_type_is_float((ptx_type)d->inst->types[0]))
        return false;
    switch (d->inst->op) {
    case PTX_OP_ADD:
        arithmetic(d, "add", 2);
        break;
    case PTX_OP_SUB:
        arithmetic(d, "sub", 2);
        break;
    case PTX_OP_MUL:
        arithmetic(d, "mul", 2);
        break;
    case PTX_OP_FMA:
    case PTX_OP_MAD:
        arithmetic(d, "fma", 3);
        break;
    case PTX_OP_DIV:
        function(d, "div", 2);
        break;
    case PTX_OP_ABS:
        arithmetic(d, "abs", 1);
        break;
    case PTX_OP_NEG:
        arithmetic(d, "neg", 1);
        break;
    case PTX_OP_MIN:
        arithmetic(d, sx_has(d, PTX_MOD_NAN) ? "min_nan" : "min", 2);
        break;
    case PTX_OP_MAX:
        arithmetic(d, sx_has(d, PTX_MOD_NAN) ? "max_nan" : "max", 2);
        break;
    default:
        return functions_and_bits(d);
    }
    return true;
}
