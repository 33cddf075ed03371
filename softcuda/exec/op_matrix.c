/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of small matrices that the lanes of a warp hold together, and moving them: mma,
 * ldmatrix, stmatrix, movmatrix.
 *
 * How floating-point sums are rounded, PTX leaves open. Here it is as published measurements of an
 * H100 have it: products are exact; up to 16 of them (8 of tf32) and c are added at once, each cut
 * off 25 bits below the leading bit of the largest; the sum is rounded towards zero to f32, or to
 * nearest even to f16. f64 is a chain of fused multiply-adds in the order of k.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "exec/access.h"
#include "exec/matrix.h"
#include "exec/ops.h"
#include "exec/scalar_float.h"

#define ILLEGAL_INSTRUCTION 715
#define FRACTION 25 /* bits below the leading bit of the largest that take part in a sum */

/* ---- where elements are ---------------------------------------------------------------------- */

/*
 * Eight rows (columns of B) lie over the lanes in groups of four; the lanes of a group hold four
 * neighbouring registers' worth of elements along k. Further rows, then further columns, are in
 * further registers.
 */
static sx_spot spot_of_a(const sx_product *p, unsigned row, unsigned col)
{
    const unsigned each = p->a == SX_ELEMENT_F64 ? 1 : 32 / sx_element_bits(p->a);
    const unsigned block = col / (4 * each), in = col % (4 * each);
    return (sx_spot){(uint8_t)(row % 8 * 4 + in / each), (uint8_t)(row / 8 + block * (p->m / 8)),
                     (uint8_t)(in % each)};
}

static sx_spot spot_of_b(const sx_product *p, unsigned row, unsigned col)
{
    const unsigned each = p->b == SX_ELEMENT_F64 ? 1 : 32 / sx_element_bits(p->b);
    const unsigned block = row / (4 * each), in = row % (4 * each);
    return (sx_spot){(uint8_t)(col * 4 + in / each), (uint8_t)block, (uint8_t)(in % each)};
}

/* Two neighbours of a row are in one lane: in one register if they are of 16 bits, else in two. */
static sx_spot spot_of_c(unsigned element, unsigned row, unsigned col)
{
    const uint8_t lane = (uint8_t)(row % 8 * 4 + col / 2);
    if (element == SX_ELEMENT_F16)
        return (sx_spot){lane, (uint8_t)(row / 8), (uint8_t)(col % 2)};
    return (sx_spot){lane, (uint8_t)(row / 8 * 2 + col % 2), 0};
}

/* m8n8k4 of f16: lanes 4q to 4q + 3 and 16 + 4q to 16 + 4q + 3 hold product q. */
static uint8_t lane_of_quad(unsigned q, unsigned at)
{
    return (uint8_t)(4 * q + at % 4 + (at >= 4 ? 16 : 0));
}

/* A by rows (B by columns): lane `line` has four elements of it; else each lane has four of a
 * column (row), in halves. */
static sx_spot spot_in_quad(unsigned q, bool along, unsigned line, unsigned k)
{
    if (along)
        return (sx_spot){lane_of_quad(q, line), (uint8_t)(k / 2), (uint8_t)(k % 2)};
    return (sx_spot){lane_of_quad(q, k + line / 4 * 4), (uint8_t)(line % 4 / 2),
                     (uint8_t)(line % 2)};
}

static sx_spot spot_of_quad_c(unsigned element, unsigned q, unsigned row, unsigned col)
{
    if (element == SX_ELEMENT_F16)
        return (sx_spot){lane_of_quad(q, row), (uint8_t)(col / 2), (uint8_t)(col % 2)};
    /* lane X of each half, X = row % 2 + (col & 2); register: row & 2, col & 4, col & 1 */
    return (sx_spot){lane_of_quad(q, (row & 1) + (col & 2) + (row & 4)),
                     (uint8_t)((row & 2) + (col & 4) + (col & 1)), 0};
}

/* ---- elements -------------------------------------------------------------------------------- */

static uint64_t get(const sx_warp *w, const sx_place *regs, unsigned element, sx_spot s)
{
    const void *reg = SX_OPERAND(w, regs[s.reg].at);
    if (element == SX_ELEMENT_F64)
        return ((const u64 *)reg)[s.lane];
    const unsigned bits = sx_element_bits(element);
    const uint32_t v = ((const u32 *)reg)[s.lane];
    return bits == 32 ? v : v >> (s.at * bits) & ((UINT32_C(1) << bits) - 1);
}

/* A number as significand * 2^(exponent - places), exactly. */
typedef struct number {
    int32_t significand; /* signed; of a normal number, the leading bit is at `places` */
    int16_t exponent;
    bool nan, infinite;
} number;

/* Bits of the fraction: where the leading bit of a normal number is. */
static unsigned places_of(unsigned element)
{
    return element == SX_ELEMENT_BF16 ? 7 : element == SX_ELEMENT_F32 ? 23 : 10;
}

static number open_bits(uint32_t v, unsigned exponent_bits, unsigned places)
{
    const unsigned top = (1u << exponent_bits) - 1, e = v >> places & top;
    const bool negative = v >> (places + exponent_bits) & 1;
    int32_t s = (int32_t)(v & ((1u << places) - 1));
    number x = {.nan = e == top && s, .infinite = e == top && !s};
    x.exponent = (int16_t)((int)(e ? e : 1) - (int)(top / 2));
    s |= e ? (int32_t)1 << places : 0;
    x.significand = negative ? -s : s;
    return x;
}

static number open_element(unsigned element, uint32_t v)
{
    if (element == SX_ELEMENT_F16)
        return open_bits(v, 5, 10);
    if (element == SX_ELEMENT_TF32) /* the low bits do not count */
        v >>= 13;
    return open_bits(v, 8, places_of(element));
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Rounds size * 2^unit to a float of so many bits: to nearest even, or towards zero. */
static uint32_t close_bits(uint64_t size, int unit, unsigned exponent_bits, unsigned places,
                           bool nearest)
{
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint64_t infinity = ((UINT64_C(1) << exponent_bits) - 1) << places;
    if (!size)
        return 0;
    const int exponent = 63 - __builtin_clzll(size) + unit + bias; /* biased */
    const int least = exponent < 1 ? 1 : exponent;
    const int drop = least - bias - (int)places - unit; /* bits below the last place */
    uint64_t kept = drop <= 0 ? size << -drop : drop > 63 ? 0 : size >> drop;
    if (nearest && drop > 0 && drop <= 63) {
        const uint64_t rest = size & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
        kept += rest > half || (rest == half && (kept & 1));
    }
    /* The leading one of a normal number lands in the exponent. */
    const uint64_t bits = exponent < 1 ? kept : ((uint64_t)(least - 1) << places) + kept;
    return (uint32_t)(bits >= infinity ? infinity : bits);
}

/* What a sum with infinities or NaN is; `count` products, and c. */
static uint32_t special(const number *a, const number *b, unsigned count, number c, unsigned to)
{
    const unsigned sign_at = to == SX_ELEMENT_F16 ? 15 : 31, places = places_of(to);
    bool plus = c.infinite && c.significand > 0, minus = c.infinite && c.significand < 0;
    bool nan = c.nan;
    for (unsigned k = 0; k < count; k++) {
        const bool infinite = a[k].infinite || b[k].infinite;
        const bool zero = !a[k].significand || !b[k].significand;
        nan |= a[k].nan || b[k].nan || (infinite && zero);
        plus |= infinite && !zero && (a[k].significand < 0) == (b[k].significand < 0);
        minus |= infinite && !zero && (a[k].significand < 0) != (b[k].significand < 0);
    }
    if (nan || (plus && minus))
        return (UINT32_C(1) << sign_at) - 1;
    return (UINT32_C(1) << sign_at) - (UINT32_C(1) << places) + ((uint32_t)minus << sign_at);
}

/* significand * 2^(exponent - places) as a multiple of 2^unit; what lies below is cut off. */
static int64_t align(int64_t significand, int exponent, unsigned places, int unit)
{
    const int shift = exponent - (int)places - unit;
    if (shift >= 0)
        return significand * (INT64_C(1) << shift);
    const int64_t size = significand < 0 ? -significand : significand;
    const int64_t kept = -shift > 62 ? 0 : size >> -shift;
    return significand < 0 ? -kept : kept;
}

/* c and the products, all at once. */
static uint32_t add_at_once(const sx_product *p, const number *a, const number *b, unsigned count,
                            unsigned c_element, uint32_t c_bits)
{
    const number c = open_element(c_element, c_bits);
    const unsigned places = 2 * places_of(p->a);
    int largest = c.significand ? c.exponent : INT_MIN / 2;
    bool odd = c.nan || c.infinite;
    for (unsigned k = 0; k < count; k++) {
        const int exponent = a[k].exponent + b[k].exponent;
        odd |= a[k].nan | a[k].infinite | b[k].nan | b[k].infinite;
        if (exponent > largest && a[k].significand && b[k].significand)
            largest = exponent;
    }
    if (odd)
        return special(a, b, count, c, p->d);
    const int unit = largest - FRACTION;
    int64_t total = 0;
    if (c.significand)
        total = align(c.significand, c.exponent, places_of(c_element), unit);
    for (unsigned k = 0; k < count; k++) {
        const int64_t product = (int64_t)a[k].significand * b[k].significand;
        if (product)
            total += align(product, a[k].exponent + b[k].exponent, places, unit);
    }
    const bool half = p->d == SX_ELEMENT_F16;
    const uint64_t size = (uint64_t)(total < 0 ? -total : total);
    return close_bits(size, unit, half ? 5 : 8, half ? 10 : 23, half) |
           (uint32_t)(total < 0) << (half ? 15 : 31);
}

/* ---- products -------------------------------------------------------------------------------- */

#define FLOAT_K 16 /* the largest k of products of floating-point numbers */

/* One product's operands: rows of a, and columns of b. */
typedef union operands {
    struct {
        number a[SX_MATRIX_M][FLOAT_K], b[SX_MATRIX_N][FLOAT_K];
    } f;
    struct {
        double a[SX_MATRIX_M][FLOAT_K], b[SX_MATRIX_N][FLOAT_K];
    } d;
    struct {
        int16_t a[SX_MATRIX_M][SX_MATRIX_K], b[SX_MATRIX_N][SX_MATRIX_K];
    } i;
} operands;

static uint64_t float_dot(const sx_product *p, const operands *o, unsigned row, unsigned col,
                          uint64_t c)
{
    const unsigned at_once = p->a == SX_ELEMENT_TF32 ? 8 : 16;
    for (unsigned k = 0; k < p->k; k += at_once)
        c = add_at_once(p, &o->f.a[row][k], &o->f.b[col][k],
                        p->k - k < at_once ? p->k - k : at_once, k ? p->d : p->c, (uint32_t)c);
    return c;
}

static uint64_t double_dot(const sx_product *p, const operands *o, unsigned row, unsigned col,
                           uint64_t c)
{
    double sum = sx_float64(c);
    for (unsigned k = 0; k < p->k; k++)
        sum = fma(o->d.a[row][k], o->d.b[col][k], sum);
    return sum != sum ? sx_bits64(SX_NAN64) : sx_bits64(sum);
}

static uint64_t integer_dot(const sx_product *p, const operands *o, unsigned row, unsigned col,
                            uint64_t c)
{
    const int16_t *a = o->i.a[row], *b = o->i.b[col];
    int64_t sum = (int32_t)c;
    for (unsigned k = 0; k < p->k; k++)
        sum += p->a != SX_ELEMENT_B1 || p->and_popc ? a[k] * b[k] : a[k] ^ b[k];
    if (p->saturates)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

static uint64_t dot(const sx_product *p, const operands *o, unsigned row, unsigned col, uint64_t c)
{
    if (p->d == SX_ELEMENT_F64)
        return double_dot(p, o, row, col, c);
    return p->d == SX_ELEMENT_S32 ? integer_dot(p, o, row, col, c) : float_dot(p, o, row, col, c);
}

static int16_t integer(unsigned element, uint64_t v)
{
    if (element == SX_ELEMENT_S8)
        return (int8_t)v;
    return (int16_t)(element == SX_ELEMENT_S4 ? (int)(v ^ 8) - 8 : (int)v);
}

static void read_rows(const sx_warp *w, const sx_product *p, unsigned q, operands *o)
{
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned k = 0; k < p->k; k++) {
            const uint64_t v =
                get(w, p->lists->places, p->a,
                    p->quads ? spot_in_quad(q, !p->a_col, row, k) : spot_of_a(p, row, k));
            if (p->d == SX_ELEMENT_F64)
                o->d.a[row][k] = sx_float64(v);
            else if (p->d == SX_ELEMENT_S32)
                o->i.a[row][k] = integer(p->a, v);
            else
                o->f.a[row][k] = open_element(p->a, (uint32_t)v);
        }
}

static void read_columns(const sx_warp *w, const sx_product *p, unsigned q, operands *o)
{
    for (unsigned col = 0; col < p->n; col++)
        for (unsigned k = 0; k < p->k; k++) {
            const uint64_t v =
                get(w, p->lists->places + p->regs[0], p->b,
                    p->quads ? spot_in_quad(q, !p->b_row, col, k) : spot_of_b(p, k, col));
            if (p->d == SX_ELEMENT_F64)
                o->d.b[col][k] = sx_float64(v);
            else if (p->d == SX_ELEMENT_S32)
                o->i.b[col][k] = integer(p->b, v);
            else
                o->f.b[col][k] = open_element(p->b, (uint32_t)v);
        }
}

/* Results by register and lane, until all are known: they may go where operands are. */
typedef struct results {
    uint64_t v[8][SX_LANES];
} results;

static void put(results *r, unsigned element, sx_spot s, uint64_t v)
{
    uint64_t *to = &r->v[s.reg][s.lane];
    *to = element == SX_ELEMENT_F16 ? (*to & ~(UINT64_C(0xffff) << (16 * s.at))) | v << (16 * s.at)
                                    : v;
}

static void multiply_all(const sx_warp *w, const sx_product *p, unsigned q, results *r)
{
    operands o;
    const sx_place *c = p->lists->places + p->regs[0] + p->regs[1];
    read_rows(w, p, q, &o);
    read_columns(w, p, q, &o);
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned col = 0; col < p->n; col++) {
            const uint64_t old = get(w, c, p->c,
                                     p->quads ? spot_of_quad_c(p->c, q, row, col)
                                              : spot_of_c(p->c, row, col));
            put(r, p->d,
                p->quads ? spot_of_quad_c(p->d, q, row, col) : spot_of_c(p->d, row, col),
                dot(p, &o, row, col, old));
        }
}

/* o[0] member mask; info: sx_product */
SX_EXTERN_HANDLER(mma)
{
    const sx_product *p = i->info;
    results r = {0};
    if (!sx_converged(i, w, i->o[0]))
        return sx_group_wait_sync(w, i);
    for (unsigned q = 0; q < (p->quads ? 4u : 1u); q++)
        multiply_all(w, p, q, &r);
    const sx_place *d = p->lists->places + p->lists->arg_count;
    for (unsigned n = 0; n < p->regs[3]; n++) {
        void *reg = SX_OPERAND(w, d[n].at);
        SX_EACH_ACTIVE
        {
            if (p->d == SX_ELEMENT_F64)
                ((u64 *)reg)[l] = r.v[n][l];
            else
                ((u32 *)reg)[l] = (uint32_t)r.v[n][l];
        }
    }
    return i + 1;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/*
 * Where the rows of i->cost matrices of 8 x 8 elements of 16 bits are, in w->pointers: lane n has
 * the address of row n % 8 of matrix n / 8, of 16 bytes. False: a fault.
 */
static bool find_rows(sx_warp *w, const sx_insn *i, uint32_t address, unsigned count, unsigned kind)
{
    const uint32_t mask = w->mask;
    const uint32_t wanted = count == 4 ? SX_ALL_LANES : (UINT32_C(1) << 8 * count) - 1;
    if ((mask & wanted) != wanted) {
        sx_fault(w, i, (unsigned)__builtin_ctz(mask), ILLEGAL_INSTRUCTION,
                 "lanes that have the addresses of rows do not take part");
        return false;
    }
    w->mask = wanted;
    const bool good = sx_resolve_lanes(w, i, address, 16, kind) &&
                      (!w->block->marks || sx_races_none(w, i, 16, kind));
    w->mask = mask;
    return good;
}

/* The two elements of a lane, packed, in a matrix of these rows. */
static uint32_t pair_at(char *const *rows, unsigned lane, bool transposed)
{
    const unsigned row = lane / 4, col = lane % 4 * 2;
    uint16_t pair[2];
    for (unsigned n = 0; n < 2; n++)
        memcpy(&pair[n], transposed ? rows[col + n] + 2 * row : rows[row] + 2 * (col + n), 2);
    return pair[0] | (uint32_t)pair[1] << 16;
}

/* o[0..3] results, o[4] address, o[5] member mask; imm offset; cost: matrices; negated: .trans */
SX_EXTERN_HANDLER(ldmatrix)
{
    const unsigned count = i->cost;
    if (!sx_converged(i, w, i->o[5]))
        return sx_group_wait_sync(w, i);
    if (!find_rows(w, i, i->o[4], count, SX_READ))
        return NULL;
    for (unsigned n = 0; n < count; n++) {
        u32 *d = SX_REG(u32, n);
        SX_EACH_ACTIVE
        {
            d[l] = pair_at((char *const *)w->pointers + 8 * n, l, i->negated);
        }
    }
    return i + 1;
}

/* o[0..3] sources, the rest as for ldmatrix */
SX_EXTERN_HANDLER(stmatrix)
{
    const unsigned count = i->cost;
    if (!sx_converged(i, w, i->o[5]))
        return sx_group_wait_sync(w, i);
    if (!find_rows(w, i, i->o[4], count, SX_WRITE))
        return NULL;
    for (unsigned n = 0; n < count; n++) {
        const u32 *s = SX_REG(u32, n);
        char *const *rows = (char *const *)w->pointers + 8 * n;
        SX_EACH_ACTIVE
        {
            const unsigned row = l / 4, col = l % 4 * 2;
            for (unsigned k = 0; k < 2; k++) {
                const uint16_t v = (uint16_t)(s[l] >> 16 * k);
                memcpy(i->negated ? rows[col + k] + 2 * row : rows[row] + 2 * (col + k), &v, 2);
            }
        }
    }
    return i + 1;
}

/* o[0] result, o[1] source, o[5] member mask: transposes */
SX_EXTERN_HANDLER(movmatrix)
{
    if (!sx_converged(i, w, i->o[5]))
        return sx_group_wait_sync(w, i);
    u32 *d = SX_REG(u32, 0);
    const u32 *s = SX_REG(u32, 1);
    uint16_t whole[8][8];
    for (unsigned l = 0; l < SX_LANES; l++)
        for (unsigned k = 0; k < 2; k++)
            whole[l / 4][l % 4 * 2 + k] = (uint16_t)(s[l] >> 16 * k);
    SX_EACH_ACTIVE
    {
        d[l] = whole[l % 4 * 2][l / 4] | (uint32_t)whole[l % 4 * 2 + 1][l / 4] << 16;
    }
    return i + 1;
}
