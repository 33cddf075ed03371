/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Elements that change their places and nothing else: concat, pad, roll, flip and the like
 * (src/ops/arrange). One kernel for each size of a unit. A thread loads ACUI_UNROLL units before it
 * stores the first.
 */
#include "../src/ops/params.h"

#include "../src/ops/arrange/params.h"

typedef unsigned unit16 __attribute__((ext_vector_type(4)));

/* n / d, without a division where 31 bits suffice. */
template <typename I> ACUI_DEVICE I quotient(I n, long long d, unsigned magic, unsigned shift)
{
    if (sizeof(I) > sizeof(int))
        return (I)((unsigned long long)n / (unsigned long long)d);
    return (I)((__umulhi((unsigned)n, magic) + (unsigned)n) >> shift);
}

/* The place in the source; `inside` becomes false where there is none. */
template <typename I>
ACUI_DEVICE I source_of(const acui_move &m, int d, I x, bool &inside)
{
    const I n = (I)m.source[d], period = (I)m.period[d];
    I y = x + (I)m.offset[d];
    switch (m.mode[d]) {
    case ACUI_MOVE_PLAIN:
        return x;
    case ACUI_MOVE_DIVIDE:
        return quotient<I>(x, m.period[d], m.magic[d], m.shift[d]);
    case ACUI_MOVE_FILL:
        inside = inside && y >= 0 && y < n;
        return y;
    case ACUI_MOVE_EDGE:
        return y < 0 ? 0 : y < n ? y : n - 1;
    default:
        y = y < 0 ? y + period : y;
        if (y >= period)
            y -= quotient<I>(y, m.period[d], m.magic[d], m.shift[d]) * period;
        return y < n ? y : period - y - (m.mode[d] == ACUI_MOVE_SYMMETRIC);
    }
}

/* Both places of units, in bytes, and whether they come from the source. */
template <int U> struct acui_places {
    long long to[U], from[U];
    bool inside[U];
};

/* Of units i[]: all are taken through a dimension together, so that what describes it is read once.
 * I: int, where 31 bits hold all numbers of units, or long long. */
template <typename I, int U>
ACUI_DEVICE void find(const acui_moves &p, const acui_move &m, I *i, acui_places<U> &at)
{
    const int last = m.index.rank - 1;
    I column[U] = {};
#pragma unroll
    for (int k = 0; k < U; k++) {
        at.to[k] = m.to_base;
        at.from[k] = m.from_base;
        at.inside[k] = true;
    }
    for (int d = last; d >= 0; d--) {
        const long long dim = m.index.dim[d], to = m.to[d], from = m.from[d];
        const unsigned magic = m.index.magic[d], shift = m.index.shift[d];
#pragma unroll
        for (int k = 0; k < U; k++) {
            I rest = d > 0 ? quotient<I>(i[k], dim, magic, shift) : 0, x = i[k] - rest * (I)dim;
            i[k] = rest;
            at.to[k] += x * to;
            at.from[k] += source_of<I>(m, d, x, at.inside[k]) * from;
            if (!p.triangle || d < last - 1)
                continue;
            column[k] = d == last ? x : column[k] - x;
            if (d < last)
                at.inside[k] = p.triangle == ACUI_LOWER ? column[k] <= p.diagonal
                                                        : column[k] >= p.diagonal;
        }
    }
}

ACUI_DEVICE void fill_value(unsigned long long fill, unit16 &v)
{
    v.x = v.z = (unsigned)fill;
    v.y = v.w = (unsigned)(fill >> 32);
}
template <typename T> ACUI_DEVICE void fill_value(unsigned long long fill, T &v) { v = (T)fill; }

/* Memory that is not the library's may begin at any element, so that units are not aligned. */
template <typename T>
ACUI_DEVICE void move_bytes(const acui_moves &p, const acui_move &m, char *out, const char *in,
                            long long i, long long step)
{
    acui_places<1> at;
    for (; i < m.units; i += step) {
        long long unit[1] = {i};
        find<long long, 1>(p, m, unit, at);
#pragma unroll 1
        for (int k = 0; k < (int)sizeof(T); k++)
            out[at.to[0] + k] = at.inside[0] ? in[at.from[0] + k] : (char)(p.fill >> (k % 8 * 8));
    }
}

template <typename T, typename I>
ACUI_DEVICE void move_units(const acui_moves &p, const acui_move &m, char *out, const char *in,
                            long long first, long long step)
{
    for (; first < m.units; first += ACUI_UNROLL * step) {
        T v[ACUI_UNROLL];
        I i[ACUI_UNROLL];
        bool is[ACUI_UNROLL];
        acui_places<ACUI_UNROLL> at;
#pragma unroll
        for (int k = 0; k < ACUI_UNROLL; k++) {
            is[k] = first + k * step < m.units;
            i[k] = is[k] ? (I)(first + k * step) : 0;
        }
        find<I, ACUI_UNROLL>(p, m, i, at);
#pragma unroll
        for (int k = 0; k < ACUI_UNROLL; k++) {
            fill_value(p.fill, v[k]);
            if (is[k] && at.inside[k])
                v[k] = *(const T *)(in + at.from[k]);
        }
#pragma unroll
        for (int k = 0; k < ACUI_UNROLL; k++)
            if (is[k])
                *(T *)(out + at.to[k]) = v[k];
    }
}

template <typename T>
ACUI_DEVICE void move(const acui_moves &p, char *out, const char *a, const char *b, const char *c,
                      const char *d)
{
    const int which = (int)(blockIdx.x % (unsigned)p.count);
    const acui_move &m = p.move[which];
    const char *in = which == 0 ? a : which == 1 ? b : which == 2 ? c : d;
    const long long step = (long long)(gridDim.x / (unsigned)p.count) * ACUI_BLOCK;
    long long i = (long long)(blockIdx.x / (unsigned)p.count) * ACUI_BLOCK + threadIdx.x;
    if (((unsigned long long)(out + m.to_base) | (unsigned long long)(in + m.from_base)) %
        sizeof(T))
        move_bytes<T>(p, m, out, in, i, step);
    else if (m.wide)
        move_units<T, long long>(p, m, out, in, i, step);
    else
        move_units<T, int>(p, m, out, in, i, step);
}

#define ACUI_X(bytes, type)                                                                        \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        arrange_##bytes(char *out, const char *a, const char *b, const char *c, const char *d,     \
                        acui_moves p)                                                              \
    {                                                                                              \
        move<type>(p, out, a, b, c, d);                                                            \
    }
ACUI_X(1, unsigned char)
ACUI_X(2, unsigned short)
ACUI_X(4, unsigned)
ACUI_X(8, unsigned long long)
ACUI_X(16, unit16)
