/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Elements that change their places and nothing else: concat, pad, roll, flip and the like
 * (src/ops/arrange). One kernel for each size of an element.
 *
 * A group of threads walks along a segment of a row (the last dimension), and finds the row's place
 * once. It stores aligned vectors of 16 bytes; where a row begins within one, that vector and the
 * last are stored as single elements. What a vector consists of is nearly always a run of
 * neighbours in the source, forwards or backwards, which its two ends tell: only other vectors ask
 * for the place of each element. A source that is not aligned as the result is read in elements.
 * A thread reads several vectors before it stores the first, so that it waits for all at once.
 */
#include "../src/ops/params.h"

#include "../src/ops/arrange/params.h"

typedef unsigned unit16 __attribute__((ext_vector_type(4)));
typedef unsigned long long address;

#define ACUI_MEMBER __inline__ __attribute__((device, always_inline))

/* I: int, where 31 bits hold all places, or long long. */
template <typename I> ACUI_DEVICE I quotient(const acui_move &m, int d, I n)
{
    if (sizeof(I) > sizeof(int))
        return (I)((address)n / (address)m.period[d]);
    return (I)((__umulhi((unsigned)n, m.magic[d]) + (unsigned)n) >> m.shift[d]);
}

/* The place in the source; with ACUI_MOVE_FILL it may be one that there is not. */
template <typename I> ACUI_DEVICE I source_of(const acui_move &m, int d, I x)
{
    const I n = (I)m.source[d], period = (I)m.period[d];
    I y = x + (I)m.offset[d];
    switch (m.mode[d]) {
    case ACUI_MOVE_PLAIN:
        return x;
    case ACUI_MOVE_DIVIDE:
        return quotient(m, d, x);
    case ACUI_MOVE_FILL:
        return y;
    case ACUI_MOVE_EDGE:
        return y < 0 ? 0 : y < n ? y : n - 1;
    default:
        y = y < 0 ? y + period : y;
        if (y >= period)
            y -= quotient(m, d, y) * period;
        return y < n ? y : period - y - (m.mode[d] == ACUI_MOVE_SYMMETRIC);
    }
}

/* Places of the row that come from the source: low <= x < high; the others are filled. */
template <typename I> struct acui_span {
    I low, high;
};

template <typename I>
ACUI_DEVICE acui_span<I> span_of(const acui_moves &p, const acui_move &m, long long row, bool inside)
{
    const int last = m.index.rank - 1;
    long long low = 0, high = m.extent;
    if (m.mode[last] == ACUI_MOVE_FILL) {
        low = -m.offset[last];
        high = min(high, low + m.source[last]);
    }
    if (p.triangle == ACUI_LOWER)
        high = min(high, row + p.diagonal + 1);
    if (p.triangle == ACUI_UPPER)
        low = max(low, row + p.diagonal);
    if (!inside || high <= low)
        low = high = 0;
    return {(I)low, (I)high};
}

/* Elements of E bytes, in the order of memory, in four words. */
template <typename E> struct vector {
    static const int BYTES = (int)sizeof(E), COUNT = 16 / BYTES;

    ACUI_DEVICE void put(unsigned (&word)[4], int j, E e)
    {
        if constexpr (BYTES == 16) {
            word[0] = e.x, word[1] = e.y, word[2] = e.z, word[3] = e.w;
        } else if (BYTES == 8) {
            word[j * 2 % 4] = (unsigned)e;
            word[(j * 2 + 1) % 4] = (unsigned)((address)e >> 32);
        } else if (BYTES == 4) {
            word[j] = (unsigned)e;
        } else {
            word[j * BYTES / 4] |= (unsigned)e << j * BYTES % 4 * 8;
        }
    }
    ACUI_DEVICE E get(const unsigned (&word)[4], int j)
    {
        if constexpr (BYTES == 16)
            return (E){word[0], word[1], word[2], word[3]};
        else if (BYTES == 8)
            return (E)(word[j * 2 % 4] | (address)word[(j * 2 + 1) % 4] << 32);
        else
            return (E)(word[j * BYTES / 4] >> j * BYTES % 4 * 8);
    }
    ACUI_DEVICE void reverse(unsigned (&word)[4])
    {
        if (BYTES == 16)
            return;
        const unsigned w[4] = {word[0], word[1], word[2], word[3]};
#pragma unroll
        for (int k = 0; k < 4; k++)
            word[k] = BYTES == 8   ? w[k ^ 2]
                      : BYTES == 4 ? w[3 - k]
                                   : __byte_perm(w[3 - k], 0, BYTES == 2 ? 0x1032 : 0x0123);
    }
};

/* I: int, or, where 31 bits do not hold all places, long long; then elements are moved one by one. */
template <typename E, typename I> struct mover {
    typedef vector<E> V;
    static const bool wide = sizeof(I) > sizeof(int);
    static const int BYTES = V::BYTES, COUNT = wide ? 1 : V::COUNT;

    const acui_move &m;
    I extent;
    const char *from; /* the row in the source */
    char *to;
    E fill;
    acui_span<I> span;
    long long stride; /* in the source */
    int last;         /* dimension */

    /* COUNT neighbours in memory that become a vector, or, backwards, the last one first. */
    struct neighbours {
        const char *at;
        bool back;
    };
    /* Whether elements x, x + 1, ... are neighbours in the source. */
    ACUI_MEMBER bool find(I x, neighbours &run) const
    {
        const I end = x + COUNT, straight = x + (I)m.offset[last];
        if (wide || (stride != BYTES && stride != -BYTES) || x < span.low || end > span.high ||
            m.mode[last] == ACUI_MOVE_DIVIDE)
            return false;
        I y = straight, along = COUNT - 1;
        if (straight < 0 || straight + COUNT > (I)m.source[last]) { /* not so but at the edges */
            y = source_of<I>(m, last, x);
            along = source_of<I>(m, last, end - 1) - y;
            /* Only mirrors go backwards; wrapping may end as far behind where it began. */
            if (along != COUNT - 1 && (along != 1 - COUNT || m.mode[last] < ACUI_MOVE_REFLECT))
                return false;
        }
        run.back = COUNT > 1 && (along < 0) == (stride > 0);
        run.at = from + (long long)y * stride - (run.back ? (COUNT - 1) * BYTES : 0);
        return true;
    }
    ACUI_MEMBER void read(const char *at, bool aligned, unsigned (&word)[4]) const
    {
        if (aligned) {
            const unit16 v = *(const unit16 *)at;
            word[0] = v.x, word[1] = v.y, word[2] = v.z, word[3] = v.w;
        } else if (BYTES < 4 && (address)at % 4 == 0) {
#pragma unroll
            for (int k = 0; k < 4; k++)
                word[k] = ((const unsigned *)at)[k];
        } else {
#pragma unroll
            for (int j = 0; j < COUNT; j++)
                V::put(word, j, ((const E *)at)[j]);
        }
    }
    ACUI_MEMBER E one(I x) const
    {
        if (x < span.low || x >= span.high)
            return fill;
        return *(const E *)(from + (long long)source_of<I>(m, last, x) * stride);
    }
    /* Elements x, x + 1, ..., of which some are filled, or are no neighbours in the source. */
    ACUI_MEMBER void single(I x, unsigned (&word)[4]) const
    {
        if constexpr (BYTES < 4) {
#pragma unroll 1
            for (int k = 0; k < 4; k++) { /* little code */
                unsigned next = 0;
#pragma unroll
                for (int j = 0; j < 4 / BYTES; j++)
                    next |= (unsigned)one(x + k * (4 / BYTES) + j) << j * BYTES * 8;
                word[0] = word[1], word[1] = word[2], word[2] = word[3], word[3] = next;
            }
            return;
        }
#pragma unroll
        for (int j = 0; j < COUNT; j++)
            V::put(word, j, one(x + j));
    }
    /* The same where each place comes several times in a row. */
    ACUI_MEMBER void repeated(I x, unsigned (&word)[4]) const
    {
        const I period = (I)m.period[last], y = quotient(m, last, x);
        const char *at = from + (long long)y * stride;
        I left = (y + 1) * period - x;
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            V::put(word, j, *(const E *)at);
            left--;
            at += left ? 0 : stride;
            left = left ? left : period;
        }
    }
    ACUI_MEMBER void load(I x, unsigned (&word)[4]) const
    {
        neighbours run;
        if (wide) {
            V::put(word, 0, one(x));
        } else if (find(x, run)) {
            read(run.at, false, word);
            if (run.back)
                V::reverse(word);
        } else {
            single(x, word);
        }
    }
    ACUI_MEMBER void save(I x, const unsigned (&word)[4]) const
    {
        if (!wide && x >= 0 && x + COUNT <= extent && m.to[last] == BYTES) {
            *(unit16 *)(to + (long long)x * BYTES) = (unit16){word[0], word[1], word[2], word[3]};
            return;
        }
#pragma unroll
        for (int j = 0; j < COUNT; j++)
            if (x + j >= 0 && x + j < extent)
                *(E *)(to + (long long)(x + j) * m.to[last]) = V::get(word, j);
    }

    /* Vectors x, x + step, ... that are neighbours in the source, and all of them in the result:
     * all are read before the first is written. */
    ACUI_MEMBER void copy(I x, I step, const neighbours (&run)[ACUI_MOVE_VECTORS]) const
    {
        unsigned word[ACUI_MOVE_VECTORS][4] = {};
        address ends = 0;
#pragma unroll
        for (int k = 0; k < ACUI_MOVE_VECTORS; k++)
            ends |= (address)run[k].at;
        if (ends % 16 == 0) {
#pragma unroll
            for (int k = 0; k < ACUI_MOVE_VECTORS; k++)
                read(run[k].at, true, word[k]);
        } else {
#pragma unroll
            for (int k = 0; k < ACUI_MOVE_VECTORS; k++)
                read(run[k].at, false, word[k]);
        }
#pragma unroll
        for (int k = 0; k < ACUI_MOVE_VECTORS; k++) {
            if (run[k].back)
                V::reverse(word[k]);
            save(x + k * step, word[k]);
        }
    }
    ACUI_MEMBER void repeat(I x, I step) const
    {
        unsigned word[ACUI_MOVE_VECTORS][4] = {};
#pragma unroll
        for (int k = 0; k < ACUI_MOVE_VECTORS; k++)
            repeated(x + k * step, word[k]);
#pragma unroll
        for (int k = 0; k < ACUI_MOVE_VECTORS; k++)
            save(x + k * step, word[k]);
    }
    /* Thread `lane` of the group moves every vector number lane, lane + group, ... of a segment,
     * which begins with vector `first`; the last one of a row takes all that there is. */
    ACUI_MEMBER void segment(I first, bool is_last, int lane) const
    {
        const int skew = m.to[last] == BYTES ? (int)((address)to / BYTES % COUNT) : 0;
        const I step = (I)m.group * COUNT, turn = step * ACUI_MOVE_VECTORS;
        const I end = is_last ? extent : first * COUNT - skew + turn * m.turns;
#pragma unroll 1
        for (I x = (first + lane) * COUNT - skew; x < end; x += turn) {
            neighbours run[ACUI_MOVE_VECTORS];
            const bool whole = !wide && x >= span.low && x + turn - step + COUNT <= span.high;
            bool near = whole;
#pragma unroll
            for (int k = 0; k < ACUI_MOVE_VECTORS; k++)
                near = near && find(x + k * step, run[k]);
            if (near) {
                copy(x, step, run);
                continue;
            }
            if (whole && m.mode[last] == ACUI_MOVE_DIVIDE) {
                repeat(x, step);
                continue;
            }
#pragma unroll 1
            for (I k = x; k < x + turn && k < extent; k += step) {
                unsigned word[4] = {};
                load(k, word);
                save(k, word);
            }
        }
    }
};

ACUI_DEVICE void fill_value(const address (&fill)[2], unit16 &v)
{
    v.x = (unsigned)fill[0];
    v.y = (unsigned)(fill[0] >> 32);
    v.z = (unsigned)fill[1];
    v.w = (unsigned)(fill[1] >> 32);
}
template <typename T> ACUI_DEVICE void fill_value(const address (&fill)[2], T &v) { v = (T)fill[0]; }

/* Moves segment number i of all rows; the last dimension of the index counts those of a row. */
template <typename E, typename I>
ACUI_DEVICE void move_segment(const acui_moves &p, const acui_move &m, char *out, const char *in,
                              long long i, int lane)
{
    const int last = m.index.rank - 1;
    long long to = m.to_base, from = m.from_base, first = 0, row = 0;
    bool inside = true, is_last = false;
    for (int d = last; d >= 0; d--) {
        const long long dim = m.index.dim[d];
        const long long rest = m.index.wide
                                   ? i / dim
                                   : (__umulhi((unsigned)i, m.index.magic[d]) + (unsigned)i) >>
                                         m.index.shift[d];
        const long long x = i - rest * dim;
        i = rest;
        if (d == last) {
            first = x * m.turns * ACUI_MOVE_VECTORS * m.group;
            is_last = x == dim - 1;
            continue;
        }
        const long long y = source_of<I>(m, d, (I)x);
        inside = inside && (m.mode[d] != ACUI_MOVE_FILL || (y >= 0 && y < m.source[d]));
        to += x * m.to[d];
        from += y * m.from[d];
        row = d == last - 1 ? x : row;
    }
    E fill;
    fill_value(p.fill, fill);
    const mover<E, I> all = {m, (I)m.extent, in + from, out + to, fill, 
                             span_of<I>(p, m, row, inside), m.from[last], last};
    all.segment((I)first, is_last, lane);
}

template <typename E>
ACUI_DEVICE void move(const acui_moves &p, char *out, const char *a, const char *b, const char *c,
                      const char *d)
{
    const int which = (int)(blockIdx.x % (unsigned)p.count);
    const acui_move &m = p.move[which];
    const char *in = which == 0 ? a : which == 1 ? b : which == 2 ? c : d;
    const int groups = ACUI_BLOCK / m.group;
    const long long step = (long long)(gridDim.x / (unsigned)p.count) * groups;
    long long i = (long long)(blockIdx.x / (unsigned)p.count) * groups + threadIdx.x / m.group;
    for (; i < m.segments; i += step)
        if (m.wide)
            move_segment<E, long long>(p, m, out, in, i, (int)threadIdx.x % m.group);
        else
            move_segment<E, int>(p, m, out, in, i, (int)threadIdx.x % m.group);
}

#define ACUI_X(bytes, type)                                                                        \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 4)                                       \
        arrange_##bytes(char *out, const char *a, const char *b, const char *c, const char *d,     \
                        acui_moves p)                                                              \
    {                                                                                              \
        move<type>(p, out, a, b, c, d);                                                            \
    }
ACUI_X(1, unsigned char)
ACUI_X(2, unsigned short)
ACUI_X(4, unsigned)
ACUI_X(8, address)
ACUI_X(16, unit16)
