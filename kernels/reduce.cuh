/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reductions. Values are accumulated in double, integers in 64 bits, by threads, then in a tree; what is
 * added to what follows from the shape alone, so that the same input gives the same bits every time.
 *
 *   rows      a group of threads for each kept element (and split); any strides
 *   columns   neighbouring threads for neighbouring kept elements, where these are neighbours in memory
 *   end       puts the partial results of the splits together
 */
#ifndef ACUDA_KERNELS_REDUCE_CUH
#define ACUDA_KERNELS_REDUCE_CUH

#include "formats.cuh"

/* ---- classes: C reads and writes, A accumulates ----------------------------------------------------- */

struct acui_sum_f {
    typedef acui_f in;
    typedef acui_any_d out;
    typedef double type;
};
struct acui_sum_d {
    typedef acui_d in;
    typedef acui_any_d out;
    typedef double type;
};
struct acui_sum_l {
    typedef acui_any_l in;
    typedef acui_any_l out;
    typedef long long type;
};

ACUI_DEVICE double acui_largest(double) { return __builtin_inf(); }
ACUI_DEVICE long long acui_largest(long long) { return 0x7fffffffffffffffll; }
ACUI_DEVICE double acui_least(double) { return -__builtin_inf(); }
ACUI_DEVICE long long acui_least(long long) { return -0x7fffffffffffffffll - 1; }

template <typename A> ACUI_DEVICE A acui_start(int op)
{
    switch (op) {
    case ACU_REDUCE_PROD: return 1;
    case ACU_REDUCE_ALL: return 1;
    case ACU_REDUCE_MIN: return acui_largest((A)0);
    case ACU_REDUCE_MAX:
    case ACU_REDUCE_ARGMIN: /* the largest of what is turned around */
    case ACU_REDUCE_ARGMAX: return acui_least((A)0);
    default: return 0;
    }
}

template <typename A> ACUI_DEVICE A acui_combine(int op, A a, A b)
{
    switch (op) {
    case ACU_REDUCE_PROD: return a * b;
    case ACU_REDUCE_MIN: return a != a || a < b ? a : b;
    case ACU_REDUCE_MAX: return a != a || a > b ? a : b;
    case ACU_REDUCE_ANY: return a != 0 || b != 0;
    case ACU_REDUCE_ALL: return a != 0 && b != 0;
    default: return a + b;
    }
}

ACUI_DEVICE double acui_add_square(double s, double v) { return fma(v, v, s); }
ACUI_DEVICE long long acui_add_square(long long s, long long) { return s; }
/* 64-bit integers without a sign, in the order of those with one. */
ACUI_DEVICE double acui_flip(double v, double) { return v; }
ACUI_DEVICE long long acui_flip(long long v, long long flip) { return v ^ flip; }

/* COUNT elements into V accumulators, the switch around the loop. */
template <typename A, typename T, int V, int COUNT>
ACUI_DEVICE void acui_accumulate(int op, A (&a)[V], const T (&x)[COUNT], A flip)
{
#define ACUI_INTO(expression)                                                                      \
    {                                                                                              \
        _Pragma("unroll") for (int k = 0; k < COUNT; k++)                                          \
        {                                                                                          \
            A &s = a[k % V], v = (A)x[k];                                                          \
            s = (expression);                                                                      \
        }                                                                                          \
    }                                                                                              \
    break
    switch (op) {
    case ACU_REDUCE_PROD: ACUI_INTO(s * v);
    case ACU_REDUCE_NORM: ACUI_INTO(acui_add_square(s, v));
    case ACU_REDUCE_MIN: ACUI_INTO(s != s || s < acui_flip(v, flip) ? s : acui_flip(v, flip));
    case ACU_REDUCE_MAX: ACUI_INTO(s != s || s > acui_flip(v, flip) ? s : acui_flip(v, flip));
    case ACU_REDUCE_ANY: ACUI_INTO((A)(s != 0 || v != 0));
    case ACU_REDUCE_ALL: ACUI_INTO((A)(s != 0 && v != 0));
    default: ACUI_INTO(s + v);
    }
#undef ACUI_INTO
}
template <typename A> ACUI_DEVICE A acui_flip_of(const acui_reduction &p)
{
    return p.unsigned_order ? acui_least((A)0) : (A)0;
}

/* For argmin, what is smallest is to be the largest. */
ACUI_DEVICE double acui_turn(double v, bool turn) { return turn ? -v : v; }
ACUI_DEVICE long long acui_turn(long long v, bool turn) { return turn ? ~v : v; }
/* Whether (v, i) comes before (best, at): larger, or the first of equals; NaN is the largest. */
template <typename A> ACUI_DEVICE bool acui_better(A v, long long i, A best, long long at)
{
    if (v > best)
        return true;
    bool equal = v == best || (v != v && best != best);
    return equal ? i < at : v != v;
}

/* ---- the result of one kept element --------------------------------------------------------------- */

template <typename S, bool ARG>
ACUI_DEVICE void acui_finish(const acui_reduction &p, char *out, char *partial, long long row,
                             int split, typename S::type value, long long at)
{
    typedef typename S::type A;
    if (p.partial) {
        long long place = row * p.splits + split;
        ((A *)partial)[place] = value;
        if (ARG)
            ((long long *)partial)[p.kept_count * p.splits + place] = at;
        return;
    }
    long long offset;
    acui_offsets<1>(p.kept, &p.out, row, &offset);
    if (ARG) {
        *((long long *)out + offset) = at;
        return;
    }
    if (p.op == ACU_REDUCE_MEAN)
        value = value / (A)p.reduced_count;
    if ((A)0.5 != 0 && p.op == ACU_REDUCE_NORM)
        value = (A)sqrt((double)value);
    if (p.op == ACU_REDUCE_MIN || p.op == ACU_REDUCE_MAX)
        value = acui_flip(value, acui_flip_of<A>(p));
    S::out::with(p.out_dtype, [&](auto format) ACUI_INLINE {
        typedef decltype(format) F;
        F::write_one(out + offset * F::BYTES, value);
    });
}

/* The values of the group's threads, in a tree; all threads of the block take part. */
template <typename A, bool ARG>
ACUI_DEVICE void acui_tree(int op, int group, A &value, long long &at)
{
    __shared__ A values[ACUI_BLOCK];
    __shared__ long long places[ARG ? ACUI_BLOCK : 1];
    int t = (int)threadIdx.x, lane = t & (group - 1);
    __syncthreads(); /* of the turn before */
    values[t] = value;
    if (ARG)
        places[t] = at;
    for (int half = group >> 1; half > 0; half >>= 1) {
        __syncthreads();
        if (lane < half) {
            A other = values[t + half];
            if (!ARG)
                values[t] = value = acui_combine(op, value, other);
            else if (acui_better(other, places[t + half], value, at)) {
                values[t] = value = other;
                places[t] = at = places[t + half];
            }
        }
    }
}

/* ---- rows --------------------------------------------------------------------------------------- */

template <typename S, bool ARG> struct acui_rows {
    typedef typename S::type A;
    typedef typename S::in C;
    typedef typename C::value T;
    static const int V = C::V, COUNT = V * ACUI_UNROLL;

    /* Neighbours in memory, from the first one on: whole vectors of all threads of the group, as far as
     * they go; gives how many elements that was. */
    ACUI_DEVICE long long vectors(const acui_reduction &p, const char *x, long long count, int lane,
                                  A (&a)[V])
    {
        long long done = 0, turn = (long long)p.group * COUNT;
        const A flip = acui_flip_of<A>(p);
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            if ((unsigned long long)x & (F::BYTES * V - 1))
                return;
            const char *at = x + (long long)lane * V * F::BYTES;
            long long step = (long long)p.group * V * F::BYTES;
            for (; done + turn <= count; done += turn) {
                T e[COUNT];
#pragma unroll
                for (int u = 0; u < ACUI_UNROLL; u++)
                    F::read(at + u * step, &e[u * V]);
                acui_accumulate<A, T, V, COUNT>(p.op, a, e, flip);
                at += ACUI_UNROLL * step;
            }
        });
        return done;
    }

    /* The rest, one by one. */
    ACUI_DEVICE void singles(const acui_reduction &p, const char *x, long long from, long long end,
                             A (&a)[V], A &value, long long &at)
    {
        const A flip = acui_flip_of<A>(p);
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            for (long long i = from; i < end; i += p.group) {
                long long offset = i;
                if (!p.contiguous)
                    acui_offsets<1>(p.reduced, &p.along, i, &offset);
                T e[1] = {F::template read_one<T>(x + offset * F::BYTES)};
                if (!ARG) {
                    A one[1] = {a[0]};
                    acui_accumulate<A, T, 1, 1>(p.op, one, e, flip);
                    a[0] = one[0];
                    continue;
                }
                A v = acui_turn(acui_flip((A)e[0], flip), p.op == ACU_REDUCE_ARGMIN);
                if (acui_better(v, i, value, at)) {
                    value = v;
                    at = i;
                }
            }
        });
    }

    ACUI_DEVICE void run(const acui_reduction &p, char *out, const char *x, char *partial)
    {
        int lane = (int)threadIdx.x & (p.group - 1), in_block = ACUI_BLOCK / p.group;
        long long units = p.kept_count * p.splits;
        for (long long base = (long long)blockIdx.x * in_block; base < units;
             base += (long long)gridDim.x * in_block) {
            long long unit = base + (int)threadIdx.x / p.group;
            long long row = unit / p.splits, begin = (unit - row * p.splits) * p.chunk;
            long long end = begin + p.chunk < p.reduced_count ? begin + p.chunk : p.reduced_count;
            A a[V], value = acui_start<A>(p.op);
            long long at = 0x7fffffffffffffffll, offset = 0;
#pragma unroll
            for (int k = 0; k < V; k++)
                a[k] = value;
            if (unit < units) {
                acui_offsets<1>(p.kept, &p.x, row, &offset);
                int bytes = 0;
                C::with(p.dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
                const char *first = x + offset * bytes;
                long long done = begin;
                if (!ARG && p.contiguous)
                    done += vectors(p, first + begin * bytes, end - begin, lane, a);
                singles(p, first, done + lane, end, a, value, at);
            }
            if (!ARG) {
#pragma unroll
                for (int k = 0; k < V; k++)
                    value = acui_combine(p.op, value, a[k]);
            }
            acui_tree<A, ARG>(p.op, p.group, value, at);
            if (lane == 0 && unit < units)
                acui_finish<S, ARG>(p, out, partial, row, (int)(unit - row * p.splits), value, at);
        }
    }
};

/* ---- columns: the last kept dimension lies in memory without gaps ------------------------------------ */

template <typename S> struct acui_columns {
    typedef typename S::type A;
    typedef typename S::in C;
    typedef typename C::value T;
    static const int V = C::V, WIDE = 32, DEEP = ACUI_BLOCK / WIDE;

    /* Rows i, i + DEEP, ... of V columns, of which `count` are there; before `end`. */
    template <typename F, int ROWS>
    ACUI_DEVICE void some(const acui_reduction &p, const char *x, long long i, int count, A (&a)[V])
    {
        T e[ROWS * V];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            long long offset;
            acui_offsets<1>(p.reduced, &p.along, i + r * DEEP, &offset);
            const char *at = x + offset * F::BYTES;
            if (count == V && ((unsigned long long)at & (F::BYTES * V - 1)) == 0) {
                F::read(at, &e[r * V]);
                continue;
            }
#pragma unroll
            for (int k = 0; k < V; k++)
                e[r * V + k] = F::template read_one<T>(at + (k < count ? k : 0) * F::BYTES);
        }
        acui_accumulate<A, T, V, ROWS * V>(p.op, a, e, acui_flip_of<A>(p));
    }

    ACUI_DEVICE void load(const acui_reduction &p, const char *x, long long begin, long long end,
                          int count, A (&a)[V])
    {
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            long long i = begin;
            for (; i + (ACUI_UNROLL - 1) * DEEP < end; i += ACUI_UNROLL * DEEP)
                some<F, ACUI_UNROLL>(p, x, i, count, a);
            for (; i < end; i += DEEP)
                some<F, 1>(p, x, i, count, a);
        });
    }

    ACUI_DEVICE void run(const acui_reduction &p, char *out, const char *x, char *partial)
    {
        __shared__ A values[DEEP][WIDE * V];
        int wide = (int)threadIdx.x % WIDE, deep = (int)threadIdx.x / WIDE;
        long long columns = p.kept.dim[p.kept.rank - 1], tiles = (columns + WIDE * V - 1) / (WIDE * V);
        long long outer = p.kept_count / columns, units = outer * tiles * p.splits;
        for (long long unit = blockIdx.x; unit < units; unit += gridDim.x) {
            int split = (int)(unit % p.splits);
            long long tile = unit / p.splits % tiles, row = unit / p.splits / tiles;
            long long column = (tile * WIDE + wide) * V, first = row * columns + column, offset;
            int count = column >= columns ? 0 : columns - column < V ? (int)(columns - column) : V;
            long long begin = split * p.chunk, end = begin + p.chunk;
            end = end < p.reduced_count ? end : p.reduced_count;
            A a[V];
#pragma unroll
            for (int k = 0; k < V; k++)
                a[k] = acui_start<A>(p.op);
            if (count > 0) {
                acui_offsets<1>(p.kept, &p.x, first, &offset);
                int bytes = 0;
                C::with(p.dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
                load(p, x + offset * bytes, begin + deep, end, count, a);
            }
            __syncthreads(); /* of the turn before */
#pragma unroll
            for (int k = 0; k < V; k++)
                values[deep][wide * V + k] = a[k];
            __syncthreads();
            for (int c = (int)threadIdx.x; c < WIDE * V && tile * WIDE * V + c < columns;
                 c += ACUI_BLOCK) {
                A value = values[0][c];
#pragma unroll
                for (int k = 1; k < DEEP; k++)
                    value = acui_combine(p.op, value, values[k][c]);
                acui_finish<S, false>(p, out, partial, row * columns + tile * WIDE * V + c, split,
                                      value, 0);
            }
        }
    }
};

/* ---- the end ------------------------------------------------------------------------------------ */

template <typename S, bool ARG>
ACUI_DEVICE void acui_end(const acui_reduction &p, char *out, const char *partial)
{
    typedef typename S::type A;
    int lane = (int)threadIdx.x & (p.group - 1), in_block = ACUI_BLOCK / p.group;
    const A *values = (const A *)partial;
    const long long *places = (const long long *)partial + p.kept_count * p.splits;
    for (long long base = (long long)blockIdx.x * in_block; base < p.kept_count;
         base += (long long)gridDim.x * in_block) {
        long long row = base + (int)threadIdx.x / p.group, at = 0x7fffffffffffffffll;
        A value = acui_start<A>(p.op);
        for (int i = lane; row < p.kept_count && i < p.splits; i += p.group) {
            A other = values[row * p.splits + i];
            if (!ARG)
                value = acui_combine(p.op, value, other);
            else if (acui_better(other, places[row * p.splits + i], value, at)) {
                value = other;
                at = places[row * p.splits + i];
            }
        }
        acui_tree<A, ARG>(p.op, p.group, value, at);
        if (lane == 0 && row < p.kept_count)
            acui_finish<S, ARG>(p, out, 0, row, 0, value, at);
    }
}

#define ACUI_REDUCE(class)                                                                         \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        rows_##class(char *out, const char *x, char *partial, acui_reduction p)                    \
    {                                                                                              \
        acui_rows<acui_sum_##class, false>::run(p, out, x, partial);                               \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        args_##class(char *out, const char *x, char *partial, acui_reduction p)                    \
    {                                                                                              \
        acui_rows<acui_sum_##class, true>::run(p, out, x, partial);                                \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        columns_##class(char *out, const char *x, char *partial, acui_reduction p)                 \
    {                                                                                              \
        acui_columns<acui_sum_##class>::run(p, out, x, partial);                                   \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        end_##class(char *out, const char *partial, acui_reduction p)                              \
    {                                                                                              \
        acui_end<acui_sum_##class, false>(p, out, partial);                                        \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        end_args_##class(char *out, const char *partial, acui_reduction p)                         \
    {                                                                                              \
        acui_end<acui_sum_##class, true>(p, out, partial);                                         \
    }

#endif
