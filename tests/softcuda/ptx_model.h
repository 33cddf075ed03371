/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What PTX's instructions compute for one thread, written from the PTX ISA and in another way than
 * the software device does it: integers as loops over bits or in 128 bits, floats as exact values
 * that are rounded once. For test_ptx_random.c, which makes programs of them.
 */
#ifndef TESTS_SOFTCUDA_PTX_MODEL_H
#define TESTS_SOFTCUDA_PTX_MODEL_H

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

/* ---- numbers -------------------------------------------------------------------------------- */

/* kind: 'u', 's', 'b' or 'f'; of floats the precision with the leading one and the exponents. */
typedef struct number {
    const char *name;
    char kind;
    int bits, precision, low, high;
    char reg; /* the class of registers that holds it */
} number;

typedef enum rounding { RN, RZ, RM, RP, RNA } rounding;

typedef struct op op;
typedef void (*op_value)(const op *o, const uint64_t *in, uint64_t *out);

enum { OP_SOURCES = 6, OP_RESULTS = 2 };

/*
 * An instruction, or a few that belong together. $0 $1 .. in the text are results, then sources;
 * @ is where a guard goes. Without a $ the text is the instruction's name. Classes of registers:
 *     p predicate  s r d integers of 16, 32 and 64 bits  f g f32 and f64  h b f16 and bf16
 *     x y pairs of f16 and bf16
 */
struct op {
    char text[400];
    char results[OP_RESULTS + 1], sources[OP_SOURCES + 1];
    op_value value;
    const number *type, *from; /* of the result and of the sources, where they differ */
    int kind, mode;            /* the operation, where several share a function; how it rounds */
    bool ftz, sat, relu, finite, nan, packed;
    uint32_t family;
};

static inline uint64_t low_bits(uint64_t v, int bits)
{
    return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static inline s128 sign_extended(uint64_t v, int bits)
{
    s128 x = (s128)low_bits(v, bits);
    return x >> (bits - 1) & 1 ? x - ((s128)1 << bits) : x;
}

static inline s128 integer_of(const number *t, uint64_t v)
{
    return t->kind == 's' ? sign_extended(v, t->bits) : (s128)low_bits(v, t->bits);
}

/* ---- floats as exact values ------------------------------------------------------------------ */

static inline long double value_of(const number *t, uint64_t v)
{
    const int fraction = t->precision - 1, exponents = t->bits - t->precision;
    const bool negative = v >> (t->bits - 1) & 1;
    const int e = (int)low_bits(v >> fraction, exponents);
    const uint64_t f = low_bits(v, fraction);
    long double x;
    if (e == (1 << exponents) - 1)
        x = f ? (long double)NAN : (long double)INFINITY;
    else
        x = ldexpl((long double)(e ? f | UINT64_C(1) << fraction : f),
                   (e ? e : 1) - 1 + t->low - fraction);
    return negative ? -x : x;
}

/* x must be a value of the type. NaN has one pattern here: tests do not look at payloads. */
static inline uint64_t bits_of(const number *t, long double x)
{
    const int fraction = t->precision - 1, exponents = t->bits - t->precision;
    const uint64_t top = UINT64_C(1) << (t->bits - 1);
    if (isnan(x))
        return top - 1;
    const uint64_t sign = signbit(x) ? top : 0;
    x = fabsl(x);
    if (isinf(x))
        return sign | (uint64_t)((1 << exponents) - 1) << fraction;
    if (x == 0)
        return sign;
    int e = ilogbl(x);
    if (e < t->low)
        return sign | (uint64_t)ldexpl(x, fraction - t->low);
    const uint64_t f = (uint64_t)ldexpl(x, fraction - e);
    return sign | (uint64_t)(e - t->low + 1) << fraction | low_bits(f, fraction);
}

static inline long double whole(long double x, int mode)
{
    long double r;
    switch (mode) {
    case RZ:
        return truncl(x);
    case RM:
        return floorl(x);
    case RP:
        return ceill(x);
    case RNA:
        return roundl(x);
    default:
        r = floorl(x +
                   0.5L); /* x has room for the half: it is far from 2^63 wherever that counts */
        if (fabsl(x) >= 4611686018427387904.0L)
            return x;
        if (r - x == 0.5L && fmodl(r, 2) != 0)
            r -= 1;
        return copysignl(r, x);
    }
}

/* The value of a type that is nearest to x in a mode. */
static inline long double rounded(const number *t, long double x, int mode)
{
    if (isnan(x) || isinf(x) || x == 0)
        return x;
    int e = ilogbl(x);
    if (e < t->low)
        e = t->low;
    const int unit = e - t->precision + 1;
    long double r = copysignl(ldexpl(whole(ldexpl(x, -unit), mode), unit), x);
    if (fabsl(r) < ldexpl(1, t->high + 1))
        return r;
    const bool away =
        mode == RN || mode == RNA || (mode == RM && signbit(x)) || (mode == RP && !signbit(x));
    const long double most = ldexpl(1, t->high + 1) - ldexpl(1, t->high + 1 - t->precision);
    return copysignl(away ? (long double)INFINITY : most, x);
}

static inline long double flushed(const number *t, long double x)
{
    return fabsl(x) < ldexpl(1, t->low) ? copysignl(0, x) : x;
}

/* What the modifiers make of a result. */
static inline uint64_t finished(const op *o, const number *t, long double x)
{
    if (o->ftz)
        x = flushed(t, x);
    if (o->relu && !isnan(x) && !(x > 0))
        x = 0;
    if (o->sat)
        x = isnan(x) || !(x > 0) ? 0 : x > 1 ? 1 : x;
    return bits_of(t, x);
}

static inline long double operand_of(const op *o, const number *t, uint64_t v)
{
    const long double x = value_of(t, v);
    return o->ftz && t->bits < 64 ? flushed(t, x) : x;
}

/* ---- arithmetic of floats -------------------------------------------------------------------- */

enum { ADD, SUB, MUL, FMA, DIV, RCP, SQRT, MIN, MAX, NEG, ABS, COPYSIGN };

static inline double compute(int kind, double a, double b, double c)
{
    const volatile double x = a, y = b, z = c;
    switch (kind) {
    case ADD:
        return x + y;
    case SUB:
        return x - y;
    case MUL:
        return x * y;
    case DIV:
        return x / y;
    case RCP:
        return 1 / x;
    case SQRT:
        return sqrt(x);
    default:
        return fma(x, y, z);
    }
}

/* f64 by the machine, which is IEEE's as PTX's is; all else in f64, to odd, and then rounded. */
static inline void float_arithmetic(const op *o, const uint64_t *in, uint64_t *out)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    const number *t = o->type;
    const bool wide = t->bits == 64;
    double v[3] = {0};
    for (int n = 0; o->sources[n]; n++)
        v[n] = (double)operand_of(o, t, in[n]);
    fesetround(wide ? modes[o->mode] : FE_TOWARDZERO);
    feclearexcept(FE_ALL_EXCEPT);
    volatile double r = compute(o->kind, v[0], v[1], v[2]);
    const bool inexact = fetestexcept(FE_INEXACT);
    fesetround(FE_TONEAREST);
    double x = r;
    if (!wide) {
        uint64_t odd;
        memcpy(&odd, &x, sizeof odd);
        odd |= inexact ? 1 : 0;
        memcpy(&x, &odd, sizeof odd);
        /* the sign of a sum that is exactly 0 is the mode's */
        if (x == 0 && !inexact && o->kind != MUL && o->kind != DIV) {
            fesetround(modes[o->mode]);
            r = compute(o->kind, v[0], v[1], v[2]);
            x = r;
            fesetround(FE_TONEAREST);
        }
    }
    out[0] = finished(o, t, rounded(t, (long double)x, o->mode));
}

static inline void float_order(const op *o, const uint64_t *in, uint64_t *out)
{
    const long double x = operand_of(o, o->type, in[0]), y = operand_of(o, o->type, in[1]);
    const bool x_first = x < y || (x == y && signbit(x));
    long double r = (o->kind == MIN) == x_first ? x : y;
    if (isnan(x) || isnan(y))
        r = o->nan ? (long double)NAN : isnan(x) ? y : x;
    out[0] = finished(o, o->type, r);
}

static inline void float_sign(const op *o, const uint64_t *in, uint64_t *out)
{
    const long double x = operand_of(o, o->type, in[0]);
    long double r = o->kind == NEG ? -x : fabsl(x);
    if (o->kind == COPYSIGN)
        r = copysignl(value_of(o->type, in[1]), isnan(x) ? 1 : x);
    out[0] = finished(o, o->type, r);
}

enum { FINITE, INFINITE, A_NUMBER, NOT_A_NUMBER, NORMAL, SUBNORMAL };

static inline void float_test(const op *o, const uint64_t *in, uint64_t *out)
{
    const long double x = value_of(o->type, in[0]);
    const bool tiny = x != 0 && fabsl(x) < ldexpl(1, o->type->low);
    const bool is[] = {isfinite(x),          isinf(x),           !isnan(x), isnan(x),
                       isfinite(x) && !tiny, isfinite(x) && tiny};
    out[0] = is[o->kind];
}

/* ---- conversions ----------------------------------------------------------------------------- */

static inline uint64_t to_integer(const op *o, long double x)
{
    const number *t = o->type;
    const bool is_signed = t->kind == 's';
    if (isnan(x))
        return t->bits < (o->from->bits < 64 ? 64 : 32) ? 0 : UINT64_C(1) << (t->bits - 1);
    x = whole(x, o->mode);
    const long double low = is_signed ? -ldexpl(1, t->bits - 1) : 0;
    const long double high = ldexpl(1, t->bits - (is_signed ? 1 : 0));
    s128 r = x <= low ? (s128)low : x >= high ? (s128)high - 1 : (s128)x;
    return (uint64_t)r;
}

/* A value of less than 32 bits is extended to what its register holds. */
static inline uint64_t in_register(const number *t, uint64_t v)
{
    return (uint64_t)integer_of(t, v);
}

/* kind: whether it rounds to a whole number first */
static inline void convert(const op *o, const uint64_t *in, uint64_t *out)
{
    const number *t = o->type, *f = o->from;
    if (f->kind != 'f' && t->kind != 'f') {
        s128 x = integer_of(f, in[0]);
        const s128 low = t->kind == 's' ? -((s128)1 << (t->bits - 1)) : 0;
        const s128 high = ((s128)1 << (t->bits - (t->kind == 's' ? 1 : 0))) - 1;
        if (o->sat)
            x = x < low ? low : x > high ? high : x;
        out[0] = in_register(t, (uint64_t)x);
        return;
    }
    long double x = f->kind == 'f' ? value_of(f, in[0]) : (long double)integer_of(f, in[0]);
    if (o->ftz && f->kind == 'f' && f->bits == 32 && !(t->kind == 'f' && t->bits == 16))
        x = flushed(f, x);
    if (t->kind != 'f') {
        out[0] = in_register(t, to_integer(o, x));
        return;
    }
    x = o->kind ? whole(x, o->mode) : rounded(t, x, o->mode);
    if (o->finite && isinf(x))
        x = copysignl(ldexpl(1, t->high + 1) - ldexpl(1, t->high + 1 - t->precision), x);
    op end = *o;
    end.ftz = o->ftz && t->bits == 32;
    out[0] = finished(&end, t, x);
}

/* Two f32 into a pair: the first is the upper half. */
static inline void convert_pair(const op *o, const uint64_t *in, uint64_t *out)
{
    uint64_t high, low;
    convert(o, in, &high);
    convert(o, in + 1, &low);
    out[0] = high << 16 | low;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

enum { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, ISNAN };
enum { JUST, AND, OR, XOR };

static inline bool ordered(int how, int sign)
{
    switch (how) {
    case EQ:
        return sign == 0;
    case NE:
        return sign != 0;
    case LT:
        return sign < 0;
    case LE:
        return sign <= 0;
    case GT:
        return sign > 0;
    default:
        return sign >= 0;
    }
}

static inline bool compares(const op *o, const number *t, int how, const uint64_t *in)
{
    if (t->kind != 'f') {
        const s128 x = integer_of(t, in[0]), y = integer_of(t, in[1]);
        return ordered(how, (x > y) - (x < y));
    }
    const long double x = operand_of(o, t, in[0]), y = operand_of(o, t, in[1]);
    const bool unordered = isnan(x) || isnan(y);
    if (how >= NUM)
        return unordered == (how == ISNAN);
    if (unordered)
        return how >= EQU;
    return ordered(how % EQU, (x > y) - (x < y));
}

static inline bool combined(int by, bool a, bool b)
{
    return by == AND ? a && b : by == OR ? a || b : by == XOR ? a != b : a;
}

/* kind: the comparison; mode: what it is combined by, + 4 if with the third operand's complement */
static inline void compare_to_predicate(const op *o, const uint64_t *in, uint64_t *out)
{
    const bool r = compares(o, o->type, o->kind, in), c = (in[2] & 1) != (o->mode >= 4);
    out[0] = combined(o->mode & 3, r, c);
    out[1] = combined(o->mode & 3, !r, c);
}

/* type: of the result; from: of the operands */
static inline void compare_to_value(const op *o, const uint64_t *in, uint64_t *out)
{
    const bool r = combined(o->mode & 3, compares(o, o->from, o->kind, in), in[2] & 1);
    out[0] = !r ? 0 : o->type->kind == 'f' ? bits_of(o->type, 1) : UINT64_MAX;
}

static inline void select_one(const op *o, const uint64_t *in, uint64_t *out)
{
    (void)o;
    out[0] = in[2] & 1 ? in[0] : in[1];
}

/* from: of the operand that decides */
static inline void select_by_sign(const op *o, const uint64_t *in, uint64_t *out)
{
    const bool first =
        o->from->kind == 'f' ? operand_of(o, o->from, in[2]) >= 0 : integer_of(o->from, in[2]) >= 0;
    out[0] = first ? in[0] : in[1];
}

/* ---- arithmetic of integers ------------------------------------------------------------------ */

static inline s128 clamped(s128 x, int bits)
{
    const s128 high = ((s128)1 << (bits - 1)) - 1;
    return x > high ? high : x < -high - 1 ? -high - 1 : x;
}

#define INTEGER(name, expression) \
    static inline void name(const op *o, const uint64_t *in, uint64_t *out) \
    { \
        const int bits = o->type->bits; \
        const s128 x = integer_of(o->type, in[0]), y = integer_of(o->type, in[1]); \
        const s128 z = integer_of(o->type, in[2]); \
        const u128 product = (u128)x * (u128)y; \
        (void)bits, (void)z, (void)product; \
        out[0] = (uint64_t)(expression); \
    }

INTEGER(int_add, x + y)
INTEGER(int_sub, x - y)
INTEGER(int_add_sat, clamped(x + y, bits))
INTEGER(int_sub_sat, clamped(x - y, bits))
INTEGER(int_mul_lo, product)
INTEGER(int_mul_hi, product >> bits)
INTEGER(int_mad_lo, product + (u128)z)
INTEGER(int_mad_hi, (product >> bits) + (u128)z)
INTEGER(int_mad_hi_sat, clamped((x * y >> bits) + z, bits))
INTEGER(int_mad_wide, product + in[2])
INTEGER(int_min, x < y ? x : y)
INTEGER(int_max, x > y ? x : y)
INTEGER(int_abs, x < 0 ? -x : x)
INTEGER(int_neg, -x)
INTEGER(int_sad, z + (x > y ? x - y : y - x))
INTEGER(int_and, x &y)
INTEGER(int_or, x | y)
INTEGER(int_xor, x ^ y)
INTEGER(int_not, ~x)
INTEGER(int_cnot, x == 0)
INTEGER(int_min_relu, (x < y ? x : y) < 0 ? 0 : x < y ? x : y)
INTEGER(int_max_relu, (x > y ? x : y) < 0 ? 0 : x > y ? x : y)

/* Divisors are made odd, and never -1: PTX does not define division by zero. */
static inline s128 divisor(const op *o, uint64_t v)
{
    return integer_of(o->type, (v | 1) & ~UINT64_C(2));
}
INTEGER(int_div, x / divisor(o, in[1]))
INTEGER(int_rem, x % divisor(o, in[1]))

static inline s128 low_24(const op *o, uint64_t v)
{
    return o->type->kind == 's' ? sign_extended(v, 24) : (s128)low_bits(v, 24);
}
INTEGER(int_mul24_lo, low_24(o, in[0]) * low_24(o, in[1]))
INTEGER(int_mul24_hi, low_24(o, in[0]) * low_24(o, in[1]) >> 16)
INTEGER(int_mad24_lo, low_24(o, in[0]) * low_24(o, in[1]) + z)
INTEGER(int_mad24_hi, (low_24(o, in[0]) * low_24(o, in[1]) >> 16) + z)
INTEGER(int_mad24_hi_sat, clamped((low_24(o, in[0]) * low_24(o, in[1]) >> 16) + z, 32))

#define AMOUNT(most) ((int)((uint32_t)in[1] > (uint32_t)(most) ? (most) : (int)(uint32_t)in[1]))
INTEGER(int_shl, (u128)x << AMOUNT(bits))
INTEGER(int_shr, x >> AMOUNT(bits))

/* kind: signs of a and b, as bits 0 and 1; mode: 4 bytes, or 2 and 3 for dp2a's halves */
static inline void int_dot(const op *o, const uint64_t *in, uint64_t *out)
{
    s128 sum = (s128)(uint32_t)in[2];
    const int parts = o->mode == 4 ? 4 : 2, width = 32 / parts;
    for (int n = 0; n < parts; n++) {
        const uint64_t a = in[0] >> (width * n);
        const uint64_t b = in[1] >> (8 * (o->mode == 3 ? n + 2 : n));
        const s128 x = o->kind & 1 ? sign_extended(a, width) : (s128)low_bits(a, width);
        const s128 y = o->kind & 2 ? sign_extended(b, 8) : (s128)low_bits(b, 8);
        sum += x * y;
    }
    out[0] = (uint64_t)sum;
}

/* Chains of two: sources a, b of the low word, c, d of the high one; mad: a * b + d:c */
static inline void carry_add(const op *o, const uint64_t *in, uint64_t *out)
{
    const int bits = o->type->bits;
    const u128 a = (u128)in[1] << bits | in[0], b = (u128)in[3] << bits | in[2];
    const u128 r = o->kind == ADD ? a + b : a - b;
    out[0] = (uint64_t)r;
    out[1] = (uint64_t)(r >> bits);
}

static inline void carry_mad(const op *o, const uint64_t *in, uint64_t *out)
{
    const int bits = o->type->bits;
    const u128 p = (u128)integer_of(o->type, in[0]) * (u128)integer_of(o->type, in[1]);
    const u128 r = p + ((u128)in[3] << bits | in[2]);
    out[0] = (uint64_t)r;
    out[1] = (uint64_t)(r >> bits);
}

/* ---- bytes and halves ------------------------------------------------------------------------ */

enum { V_ADD, V_SUB, V_AVRG, V_ABSDIFF, V_MIN, V_MAX, V_EQ }; /* and the other comparisons */

/* type: of the result; from: of the operands; mode: how many parts; nan: with .add */
static inline void video(const op *o, const uint64_t *in, uint64_t *out)
{
    const int bits = 32 / o->mode;
    number part = *o->type, operand = *o->from;
    s128 sum = (s128)(uint32_t)in[2];
    part.bits = operand.bits = bits;
    out[0] = 0;
    for (int at = 0; at < 32; at += bits) {
        const s128 x = integer_of(&operand, in[0] >> at), y = integer_of(&operand, in[1] >> at);
        const s128 low = part.kind == 's' ? -((s128)1 << (bits - 1)) : 0;
        const s128 high = ((s128)1 << (bits - (part.kind == 's' ? 1 : 0))) - 1;
        const s128 values[] = {x + y,
                               x - y,
                               (x + y + (x + y >= 0)) >> 1,
                               x > y ? x - y : y - x,
                               x < y ? x : y,
                               x > y ? x : y,
                               x == y,
                               x != y,
                               x<y, x <= y, x>
                                   y,
                               x >= y};
        s128 r = values[o->kind];
        if (o->sat)
            r = r < low ? low : r > high ? high : r;
        sum += r;
        out[0] |= low_bits((uint64_t)r, bits) << at;
    }
    if (o->nan)
        out[0] = (uint64_t)sum;
}

/* ---- bits ------------------------------------------------------------------------------------ */

static inline int bit_of(uint64_t v, int n)
{
    return (int)(v >> n & 1);
}

static inline void bits_count(const op *o, const uint64_t *in, uint64_t *out)
{
    out[0] = 0;
    for (int n = 0; n < o->type->bits; n++)
        out[0] += (uint64_t)bit_of(in[0], n);
}

static inline void bits_leading(const op *o, const uint64_t *in, uint64_t *out)
{
    int n = 0;
    while (n < o->type->bits && !bit_of(in[0], o->type->bits - 1 - n))
        n++;
    out[0] = (uint64_t)n;
}

static inline void bits_reverse(const op *o, const uint64_t *in, uint64_t *out)
{
    out[0] = 0;
    for (int n = 0; n < o->type->bits; n++)
        out[0] |= (uint64_t)bit_of(in[0], n) << (o->type->bits - 1 - n);
}

/* kind: .shiftamt */
static inline void bits_find(const op *o, const uint64_t *in, uint64_t *out)
{
    const int top = o->type->bits - 1;
    const int sign = o->type->kind == 's' ? bit_of(in[0], top) : 0;
    out[0] = UINT32_MAX;
    for (int n = top; n >= 0 && out[0] == UINT32_MAX; n--)
        if (bit_of(in[0], n) != sign)
            out[0] = (uint64_t)(o->kind ? top - n : n);
}

/* PTX names none above 255. On an H100 they count whole for fields of 64 bits, and their low 8 bits
 * for fields of 32. */
static inline int field_number(const op *o, uint64_t n)
{
    n &= UINT32_MAX;
    return o->type->bits == 32 ? (int)(n & 0xff) : n < 0xff ? (int)n : 0xff;
}

static inline void bits_extract(const op *o, const uint64_t *in, uint64_t *out)
{
    const int top = o->type->bits - 1, pos = field_number(o, in[1]), len = field_number(o, in[2]);
    const int last = pos + len - 1 < top ? pos + len - 1 : top;
    const int sign = o->type->kind == 's' && len ? bit_of(in[0], last) : 0;
    out[0] = 0;
    for (int n = 0; n <= top; n++)
        out[0] |= (uint64_t)(n < len && pos + n <= top ? bit_of(in[0], pos + n) : sign) << n;
}

static inline void bits_insert(const op *o, const uint64_t *in, uint64_t *out)
{
    const int top = o->type->bits - 1, pos = field_number(o, in[2]), len = field_number(o, in[3]);
    out[0] = in[1];
    for (int n = 0; n < len && pos + n <= top; n++)
        out[0] = (out[0] & ~(UINT64_C(1) << (pos + n))) | (uint64_t)bit_of(in[0], n) << (pos + n);
}

/* kind: .wrap */
static inline void bits_mask(const op *o, const uint64_t *in, uint64_t *out)
{
    uint64_t pos = (uint32_t)in[0], len = (uint32_t)in[1];
    if (o->kind)
        pos &= 31, len &= 31;
    out[0] = 0;
    for (uint64_t n = 0; n < 32; n++)
        out[0] |= (uint64_t)(n >= pos && n - pos < len) << n;
}

static inline void bits_extend(const op *o, const uint64_t *in, uint64_t *out)
{
    const uint64_t n = o->kind ? in[1] & 31 : (uint32_t)in[1];
    if (n >= 32)
        out[0] = in[0];
    else if (n == 0)
        out[0] = 0;
    else
        out[0] =
            o->type->kind == 's' ? (uint64_t)sign_extended(in[0], (int)n) : low_bits(in[0], (int)n);
}

enum { PLAIN, F4E, B4E, RC8, ECL, ECR, RC16 };

static inline void bits_permute(const op *o, const uint64_t *in, uint64_t *out)
{
    const uint64_t bytes = in[1] << 32 | (uint32_t)in[0];
    const int c = (int)(in[2] & 3);
    out[0] = 0;
    for (int n = 0; n < 4; n++) {
        const int from[] = {
            (int)(in[2] >> (4 * n) & 7), c + n, (c - n) & 7, c, n > c ? n : c, n < c ? n : c,
            2 * (c & 1) + (n & 1)};
        uint64_t byte = bytes >> (8 * from[o->kind]) & 0xff;
        if (o->kind == PLAIN && in[2] >> (4 * n + 3) & 1)
            byte = byte >> 7 ? 0xff : 0;
        out[0] |= byte << (8 * n);
    }
}

/* kind: left; mode: .wrap */
static inline void bits_funnel(const op *o, const uint64_t *in, uint64_t *out)
{
    const uint32_t c = (uint32_t)in[2];
    const int n = (int)(o->mode ? c & 31 : c > 32 ? 32 : c);
    const u128 v = (u128)in[1] << 32 | (uint32_t)in[0];
    out[0] = (uint32_t)(o->kind ? v << n >> 32 : v >> n);
}

/* kind: the table */
static inline void bits_logic(const op *o, const uint64_t *in, uint64_t *out)
{
    out[0] = 0;
    for (int n = 0; n < 32; n++) {
        const int at = bit_of(in[0], n) << 2 | bit_of(in[1], n) << 1 | bit_of(in[2], n);
        out[0] |= (uint64_t)bit_of((uint64_t)o->kind, at) << n;
    }
}

static inline void bits_nth(const op *o, const uint64_t *in, uint64_t *out)
{
    (void)o;
    const int64_t n = (int32_t)in[2] == INT32_MIN ? -INT32_MAX : (int32_t)in[2]; /* ptx_ops.h */
    int64_t count = n < 0 ? -n : n;
    out[0] = UINT32_MAX;
    if (n == 0 && bit_of(in[0], (int)(in[1] & 31)))
        out[0] = in[1] & 31;
    for (int at = (int)(in[1] & 31); n && at >= 0 && at<32; at += n> 0 ? 1 : -1)
        if (bit_of(in[0], at) && --count == 0)
            out[0] = (uint64_t)at;
}

/* cvt.pack: type: of the parts; from[2] is what stays where the parts are bytes */
static inline void bits_pack(const op *o, const uint64_t *in, uint64_t *out)
{
    op part = *o;
    uint64_t a, b;
    part.sat = true;
    convert(&part, in, &a);
    convert(&part, in + 1, &b);
    const int bits = o->type->bits;
    out[0] = low_bits(a, bits) << bits | low_bits(b, bits) | (bits == 8 ? in[2] << 16 : 0);
}

/* ---- moves ----------------------------------------------------------------------------------- */

static inline void move(const op *o, const uint64_t *in, uint64_t *out)
{
    (void)o;
    out[0] = in[0];
}

/* A float's bits: those of the one NaN where it is one. */
static inline void move_float(const op *o, const uint64_t *in, uint64_t *out)
{
    out[0] = bits_of(o->type, value_of(o->type, in[0]));
}

/* from: of the parts */
static inline void join(const op *o, const uint64_t *in, uint64_t *out)
{
    out[0] = 0;
    for (int n = 0; o->sources[n]; n++)
        out[0] |= low_bits(in[n], o->from->bits) << (n * o->from->bits);
}

static inline void split(const op *o, const uint64_t *in, uint64_t *out)
{
    out[0] = low_bits(in[0], o->from->bits);
    out[1] = low_bits(in[0] >> o->from->bits, o->from->bits);
}

static inline void logic_of_predicates(const op *o, const uint64_t *in, uint64_t *out)
{
    out[0] = o->kind == JUST ? !(in[0] & 1) : combined(o->kind, in[0] & 1, in[1] & 1);
}

/* ---- one operation --------------------------------------------------------------------------- */

static inline int class_bits(char class)
{
    switch (class) {
    case 'p':
        return 1;
    case 's':
    case 'h':
    case 'b':
        return 16;
    case 'd':
    case 'g':
        return 64;
    default:
        return 32;
    }
}

static inline void op_compute(const op *o, const uint64_t *in, uint64_t *out)
{
    uint64_t halves[2][OP_RESULTS] = {{0}}, part[OP_SOURCES];
    out[0] = out[1] = 0;
    if (!o->packed) {
        o->value(o, in, out);
    } else {
        for (int h = 0; h < 2; h++) {
            for (int n = 0; n < OP_SOURCES; n++)
                part[n] = n < (int)strlen(o->sources) && class_bits(o->sources[n]) == 32
                              ? in[n] >> (16 * h) & 0xffff
                              : in[n];
            o->value(o, part, halves[h]);
        }
        if (o->results[0] == 'p')
            out[0] = halves[0][0], out[1] = halves[1][0];
        else
            out[0] = (halves[0][0] & 0xffff) | (halves[1][0] & 0xffff) << 16;
    }
    for (int n = 0; o->results[n]; n++)
        out[n] = low_bits(out[n], class_bits(o->results[n]));
}

#endif
