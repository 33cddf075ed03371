/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Elements that change their places and nothing else: concat, pad, roll, flip and the like
 * (src/ops/arrange). One kernel for each size of a unit. A thread loads ACUI_UNROLL units before it
 * stores the first.
 */
#include "../src/ops/params.h"

#include "../src/ops/arrange/params.h"

typedef unsigned unit16 __attribute__((ext_vector_type(4)));

/* n / dim[d] */
ACUI_DEVICE long long divide(const acui_index &index, int d, long long n)
{
    if (index.wide)
        return n / index.dim[d];
    return (long long)((__umulhi((unsigned)n, index.magic[d]) + (unsigned)n) >> index.shift[d]);
}

/* The place in the source; `inside` becomes false where there is none. */
ACUI_DEVICE long long source_of(const acui_move &m, int d, long long x, bool &inside)
{
    const long long n = m.source[d], y = x + m.offset[d];
    long long period, at;
    switch (m.mode[d]) {
    case ACUI_MOVE_PLAIN:
        return x;
    case ACUI_MOVE_DIVIDE:
        return (long long)((unsigned long long)x / (unsigned long long)n);
    case ACUI_MOVE_FILL:
        inside = inside && y >= 0 && y < n;
        return y;
    case ACUI_MOVE_EDGE:
        return y < 0 ? 0 : y < n ? y : n - 1;
    case ACUI_MOVE_WRAP:
        return y < n ? y : (long long)((unsigned long long)y % (unsigned long long)n);
    default:
        period = m.mode[d] == ACUI_MOVE_REFLECT ? 2 * n - 2 : 2 * n;
        at = y < n ? y : (long long)((unsigned long long)y % (unsigned long long)period);
        return at < n ? at : period - at - (m.mode[d] == ACUI_MOVE_SYMMETRIC);
    }
}

/* Finds both places of unit number i; gives whether it comes from the source. */
ACUI_DEVICE bool find(const acui_moves &p, const acui_move &m, long long i, long long &to,
                      long long &from)
{
    bool inside = true;
    long long row = 0, column = 0;
    to = m.to_base;
    from = m.from_base;
    for (int d = m.index.rank - 1; d >= 0; d--) {
        long long rest = d > 0 ? divide(m.index, d, i) : 0, x = i - rest * m.index.dim[d];
        i = rest;
        to += x * m.to[d];
        from += source_of(m, d, x, inside) * m.from[d];
        if (d == m.index.rank - 1)
            column = x;
        else if (d == m.index.rank - 2)
            row = x;
    }
    if (p.triangle)
        inside = inside && (p.triangle == ACUI_LOWER ? column - row <= p.diagonal
                                                     : column - row >= p.diagonal);
    return inside;
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
    long long to, from;
    for (; i < m.units; i += step) {
        bool inside = find(p, m, i, to, from);
#pragma unroll 1
        for (int k = 0; k < (int)sizeof(T); k++)
            out[to + k] = inside ? in[from + k] : (char)(p.fill >> (k % 8 * 8));
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
    if (((unsigned long long)(out + m.to_base) | (unsigned long long)(in + m.from_base)) % sizeof(T)) {
        move_bytes<T>(p, m, out, in, i, step);
        return;
    }
    for (; i < m.units; i += ACUI_UNROLL * step) {
        T v[ACUI_UNROLL];
        long long to[ACUI_UNROLL], from;
#pragma unroll
        for (int k = 0; k < ACUI_UNROLL; k++) {
            if (i + k * step >= m.units)
                continue;
            fill_value(p.fill, v[k]);
            if (find(p, m, i + k * step, to[k], from))
                v[k] = *(const T *)(in + from);
        }
#pragma unroll
        for (int k = 0; k < ACUI_UNROLL; k++)
            if (i + k * step < m.units)
                *(T *)(out + to[k]) = v[k];
    }
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
