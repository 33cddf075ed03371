/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reductions. Values are accumulated in double, integers in 64 bits, by threads, then in a tree; what is
 * added to what follows from the shape alone, so that the same input gives the same bits every time.
 *
 *   rows      a group of threads for each kept element (and split); any strides
 *   args      the same for argmin and argmax; where neighbours in memory are kept, a group is one thread
 *   columns   neighbouring threads for neighbouring kept elements, where these are neighbours in memory
 *   end       puts the partial results of the splits together
 */
#ifndef ACUDA_KERNELS_REDUCE_CUH
#define ACUDA_KERNELS_REDUCE_CUH

#include "formats.cuh"

/* ---- classes: C reads and writes, A accumulates ----------------------------------------------------- */

/* The integers that are reduced, as they are. */
struct acui_read_l {
    typedef long long value;
    static const int V = 2, SHORTEST = 1;
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        typedef acui_any_l C;
        switch (dtype) {
            ACUI_CASE(ACU_BOOL, acui_code_bool);
            ACUI_CASE(ACU_U8, acui_code_wrapped<unsigned char>);
            ACUI_CASE(ACU_I8, acui_code_wrapped<signed char>);
            ACUI_CASE(ACU_U16, acui_code_wrapped<unsigned short>);
            ACUI_CASE(ACU_I16, acui_code_wrapped<short>);
            ACUI_CASE(ACU_U32, acui_code_wrapped<unsigned>);
            ACUI_CASE(ACU_I32, acui_code_wrapped<int>);
        default: f(acui_coded<C, acui_code_wrapped<long long>>());
        }
    }
};

struct acui_sum_f {
    typedef acui_real_f in;
    typedef acui_any_d out;
    typedef double type;
};
struct acui_sum_d {
    typedef acui_real_d in;
    typedef acui_any_d out;
    typedef double type;
};
struct acui_sum_l {
    typedef acui_read_l in;
    typedef acui_any_l out;
    typedef long long type;
};

/*
 * What a thread reads before it uses any of it: COUNT elements, in vectors of 16 bytes. 64 or 128 bytes of
 * each of the some 1,000 threads that an SM of an H100 has room for are three times and more what must be
 * under way to hide the memory's latency. The format is asked for once in a turn, so that what is computed
 * is there once for all of them; FEW elements are a vector of the shortest, or two.
 */
template <typename C> struct acui_wide {
    typedef typename C::value T;
    static const int COUNT = sizeof(T) == 4 ? 32 : 16, FEW = sizeof(T) == 4 ? 8 : C::SHORTEST == 8 ? 4 : 16;

    /* Vectors `step` bytes apart from element `first` on. */
    template <int N>
    ACUI_DEVICE void read(int dtype, const char *x, long long first, long long step, T (&e)[N])
    {
        C::with(dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            uint4 words[N * F::BYTES / 16];
#pragma unroll
            for (int u = 0; u < N * F::BYTES / 16; u++) {
                /* as text: or the compiler takes it apart into the parts that are used */
                uint4 &w = words[u];
                __asm__("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                        : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
                        : "l"((unsigned long long)(x + first * F::BYTES + u * step)));
            }
#pragma unroll
            for (int i = 0; i < N; i += C::V)
                F::read((const char *)words + i * F::BYTES, &e[i]);
        });
    }
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

/* What makes the largest the one that is looked for: bits that are turned over, as above. */
ACUI_DEVICE float acui_masked(float v, long long mask)
{
    return __uint_as_float(__float_as_uint(v) ^ (unsigned)mask);
}
ACUI_DEVICE double acui_masked(double v, long long mask)
{
    return __longlong_as_double(__double_as_longlong(v) ^ mask);
}
ACUI_DEVICE long long acui_masked(long long v, long long mask) { return v ^ mask; }
template <typename T> ACUI_DEVICE long long acui_mask_of(const acui_reduction &p)
{
    bool least = p.op == ACU_REDUCE_ARGMIN;
    if ((T)0.5 != 0)
        return !least ? 0 : sizeof(T) == 4 ? 0x80000000ll : acui_least(0ll);
    return (least ? -1ll : 0ll) ^ (p.unsigned_order ? acui_least(0ll) : 0ll);
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

template <typename A, bool ARG>
ACUI_DEVICE void acui_join(int op, A other, long long place, A &value, long long &at)
{
    if (!ARG) {
        value = acui_combine(op, value, other);
    } else if (acui_better(other, place, value, at)) {
        value = other;
        at = place;
    }
}

/* The values of the group's threads, in trees by warps, for its first thread; all threads of the block
 * take part. */
template <typename A, bool ARG>
ACUI_DEVICE void acui_tree(int op, int group, A &value, long long &at)
{
    __shared__ A values[ACUI_BLOCK / 32];
    __shared__ long long places[ARG ? ACUI_BLOCK / 32 : 1];
    int t = (int)threadIdx.x;
    for (int half = (group < 32 ? group : 32) >> 1; half > 0; half >>= 1) {
        A other = __shfl_xor_sync(0xffffffffu, value, half);
        acui_join<A, ARG>(op, other, ARG ? __shfl_xor_sync(0xffffffffu, at, half) : 0, value, at);
    }
    if (group <= 32)
        return;
    __syncthreads(); /* of the turn before */
    if ((t & 31) == 0) {
        values[t >> 5] = value;
        if (ARG)
            places[t >> 5] = at;
    }
    __syncthreads();
    for (int w = 1; (t & (group - 1)) == 0 && w < group >> 5; w++)
        acui_join<A, ARG>(op, values[(t >> 5) + w], ARG ? places[(t >> 5) + w] : 0, value, at);
}

/* ---- rows --------------------------------------------------------------------------------------- */

template <typename S, bool ARG> struct acui_rows {
    typedef typename S::type A;
    typedef typename S::in C;
    typedef typename C::value T;
    typedef acui_wide<C> W;
    static const int V = C::V, FEW = ARG ? 4 : 1; /* single elements under way at once */

    /* Neighbours in memory, `count` elements from x on, which is aligned to 16 bytes: COUNT at once as far
     * as all threads of the group have them, then FEW. Gives how many elements that was. */
    ACUI_DEVICE long long vectors(const acui_reduction &p, const char *x, long long count, int lanes,
                                  int lane, A (&a)[V])
    {
        const long long turn = (long long)p.group * W::COUNT;
        const A flip = acui_flip_of<A>(p);
        long long done = 0;
#pragma unroll 1
        for (; done + turn <= count; done += turn) {
            T e[W::COUNT];
            W::read(p.dtype, x, done + lane * lanes, p.group * 16, e);
            acui_accumulate<A, T, V, W::COUNT>(p.op, a, e, flip);
        }
#pragma unroll 1
        for (done += lane * W::FEW; done + W::FEW <= count; done += p.group * W::FEW) {
            T e[W::FEW];
            W::read(p.dtype, x, done, 16, e);
            acui_accumulate<A, T, V, W::FEW>(p.op, a, e, flip);
        }
        return count / W::FEW * W::FEW;
    }

    /*
     * The same for argmin and argmax. A thread keeps the largest value, and the turn that it came with,
     * not its place: a turn costs two or three instructions an element and five more, some 14 for 16 bytes,
     * where an H100 can issue 150 in the time that its memory takes for these. At the end the thread reads
     * that turn once more, and looks where in it the value was. NaN is larger than all; the maximum of
     * two, which leaves NaN out, is one instruction only because of that.
     */
    ACUI_DEVICE long long pick(const acui_reduction &p, const char *x, long long count, int lanes, int lane,
                               A &value, long long &at)
    {
        const long long turn = (long long)p.group * W::COUNT, mask = acui_mask_of<T>(p), turns = count / turn;
        T best = (T)0, e[W::COUNT];
        long long where = -1;
#pragma unroll 1
        for (long long i = 0; i < turns; i++) {
            W::read(p.dtype, x, i * turn + lane * lanes, p.group * 16, e);
            T most = acui_masked(e[0], mask);
            bool nan = most != most;
#pragma unroll
            for (int k = 1; k < W::COUNT; k++) {
                T v = acui_masked(e[k], mask);
                nan = nan | (v != v);
                most = max(most, v);
            }
            bool better = (where < 0) | ((best == best) & (nan | (most > best)));
            best = !better ? best : nan ? (T)__builtin_nan("") : most;
            where = better ? i : where;
        }
        if (where >= 0) {
            int found = 0;
            W::read(p.dtype, x, where * turn + lane * lanes, p.group * 16, e);
#pragma unroll
            for (int k = W::COUNT - 1; k >= 0; k--) {
                T v = acui_masked(e[k], mask);
                found = v == best || (v != v && best != best) ? k : found;
            }
            at = where * turn + (long long)(found / lanes * p.group + lane) * lanes + found % lanes;
            value = (A)best;
        }
        return turns * turn;
    }

    ACUI_DEVICE void one(const acui_reduction &p, T e, long long i, A (&a)[V], A &value,
                         long long &at)
    {
        const A flip = acui_flip_of<A>(p);
        if (!ARG) {
            A sum[1] = {a[0]};
            const T x[1] = {e};
            acui_accumulate<A, T, 1, 1>(p.op, sum, x, flip);
            a[0] = sum[0];
            return;
        }
        A v = acui_turn(acui_flip((A)e, flip), p.op == ACU_REDUCE_ARGMIN);
        acui_join<A, true>(p.op, v, i, value, at);
    }

    /* `count` elements from number `begin` on. What is before the first whole vector and after the last
     * one, and what has gaps, goes one by one. */
    ACUI_DEVICE void some(const acui_reduction &p, const char *x, long long begin, long long count,
                          int lane, A (&a)[V], A &value, long long &at)
    {
        const long long none = 0x7fffffffffffffffll;
        long long head = 0, middle = 0, place = none;
        if (p.contiguous) {
            int bytes = 0;
            C::with(p.dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
            const char *first = x + begin * bytes;
            head = (long long)((0ull - (unsigned long long)first) & 15) / bytes;
            head = head < count ? head : count;
            first += head * bytes;
            if constexpr (ARG)
                middle = pick(p, first, count - head, 16 / bytes, lane, value, place);
            else
                middle = vectors(p, first, count - head, 16 / bytes, lane, a);
        }
        at = place != none ? begin + head + place : none;
#pragma unroll 1
        for (long long i = lane; i < count - middle; i += FEW * p.group) {
            long long element[FEW], offset[FEW];
            T e[FEW];
#pragma unroll
            for (int k = 0; k < FEW; k++) {
                long long n = i + k * p.group < count - middle ? i + k * p.group : i;
                element[k] = begin + (n < head ? n : n + middle);
                offset[k] = p.reduced.rank > 1 ? 0 : element[k] * p.along.stride[0];
                if (p.reduced.rank > 1)
                    acui_offsets<1>(p.reduced, &p.along, element[k], &offset[k]);
            }
            C::with(p.dtype, [&](auto format) ACUI_INLINE {
                typedef decltype(format) F;
#pragma unroll
                for (int k = 0; k < FEW; k++)
                    e[k] = F::template read_one<T>(x + offset[k] * F::BYTES);
            });
#pragma unroll
            for (int k = 0; k < FEW; k++) /* the first again, if there are no more: that changes no place */
                one(p, e[k], element[k], a, value, at);
        }
    }

    ACUI_DEVICE void run(const acui_reduction &p, char *out, const char *x, char *partial)
    {
        int lane = (int)threadIdx.x & (p.group - 1), in_block = ACUI_BLOCK / p.group;
        long long units = p.kept_count * p.splits;
        for (long long base = (long long)blockIdx.x * in_block; base < units;
             base += (long long)gridDim.x * in_block) {
            long long unit = base + (int)threadIdx.x / p.group;
            long long split = unit / p.kept_count, row = unit - split * p.kept_count;
            long long begin = split * p.chunk; /* neighbours have neighbouring rows */
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
                some(p, x + offset * bytes, begin, end - begin, lane, a, value, at);
            }
            if (!ARG) {
#pragma unroll
                for (int k = 0; k < V; k++)
                    value = acui_combine(p.op, value, a[k]);
            }
            acui_tree<A, ARG>(p.op, p.group, value, at);
            if (lane == 0 && unit < units)
                acui_finish<S, ARG>(p, out, partial, row, (int)split, value, at);
        }
    }
};

/* ---- columns: the last kept dimension lies in memory without gaps ------------------------------------ */

template <typename S> struct acui_columns {
    typedef typename S::type A;
    typedef typename S::in C;
    typedef typename C::value T;
    static const int V = C::V, WIDE = 32, DEEP = ACUI_BLOCK / WIDE;

    /* From row i on, as far as ROWS of ours at once go; gives the first row that is left. */
    ACUI_DEVICE long long fast(const acui_reduction &p, const char *x, long long i, long long end,
                               A (&a)[V])
    {
        const int ROWS = 8;
        const A flip = acui_flip_of<A>(p);
        int bytes = 0;
        C::with(p.dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
        const long long step = p.along.stride[0] * bytes;
        if (((unsigned long long)x | (unsigned long long)step) & (unsigned)(bytes * V - 1))
            return i;
#pragma unroll 1
        for (; i + (ROWS - 1) * DEEP < end; i += ROWS * DEEP) {
            T e[ROWS * V];
            C::with(p.dtype, [&](auto format) ACUI_INLINE {
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    decltype(format)::read(x + (i + r * DEEP) * step, &e[r * V]);
            });
            acui_accumulate<A, T, V, ROWS * V>(p.op, a, e, flip);
        }
        return i;
    }

    /* V columns, of which `count` are there; rows i, i + DEEP, ... before `end`. */
    ACUI_DEVICE void load(const acui_reduction &p, const char *x, long long i, long long end,
                          int count, A (&a)[V])
    {
        if (p.reduced.rank == 1 && count == V)
            i = fast(p, x, i, end, a);
#pragma unroll 1
        for (; i < end; i += DEEP) {
            T e[V];
            long long offset;
            acui_offsets<1>(p.reduced, &p.along, i, &offset);
            C::with(p.dtype, [&](auto format) ACUI_INLINE {
                typedef decltype(format) F;
#pragma unroll
                for (int k = 0; k < V; k++)
                    e[k] = F::template read_one<T>(x + (offset + (k < count ? k : 0)) * F::BYTES);
            });
            acui_accumulate<A, T, V, V>(p.op, a, e, acui_flip_of<A>(p));
        }
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

#define ACUI_PARTS 8

/* Partial results i, i + group, ... of a kept element, ACUI_PARTS of them under way at once: a launch
 * of one block lasts about as long as the reads that wait for each other. */
template <typename A, bool ARG>
ACUI_DEVICE void acui_parts(const acui_reduction &p, const A *values, const long long *places,
                            long long first, int i, A &value, long long &at)
{
    A v[ACUI_PARTS], sum[1] = {value};
    long long place[ACUI_PARTS];
#pragma unroll
    for (int u = 0; u < ACUI_PARTS; u++) {
        bool there = i + u * p.group < p.splits;
        long long n = first + (there ? i + u * p.group : i);
        v[u] = ARG || there ? values[n] : acui_start<A>(p.op);
        place[u] = ARG ? places[n] : 0;
    }
    if (!ARG) { /* they are squares already */
        acui_accumulate<A, A, 1, ACUI_PARTS>(p.op == ACU_REDUCE_NORM ? ACU_REDUCE_SUM : p.op, sum, v, (A)0);
        value = sum[0];
        return;
    }
#pragma unroll
    for (int u = 0; u < ACUI_PARTS; u++)
        acui_join<A, true>(p.op, v[u], place[u], value, at);
}

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
        for (int i = lane; row < p.kept_count && i < p.splits; i += ACUI_PARTS * p.group)
            acui_parts<A, ARG>(p, values, places, row * p.splits, i, value, at);
        acui_tree<A, ARG>(p.op, p.group, value, at);
        if (lane == 0 && row < p.kept_count)
            acui_finish<S, ARG>(p, out, 0, row, 0, value, at);
    }
}

/* Blocks that are to fit into an SM at once, with 64 registers a thread, or, where eight rows have an address
 * each, 80: more loads under way. */
#define ACUI_RESIDENT 4
#define ACUI_RESIDENT_COLUMNS 3

#define ACUI_REDUCE(class)                                                                         \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, ACUI_RESIDENT)                        \
        rows_##class(char *out, const char *x, char *partial, acui_reduction p)                    \
    {                                                                                              \
        acui_rows<acui_sum_##class, false>::run(p, out, x, partial);                               \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, ACUI_RESIDENT)                        \
        args_##class(char *out, const char *x, char *partial, acui_reduction p)                    \
    {                                                                                              \
        acui_rows<acui_sum_##class, true>::run(p, out, x, partial);                                \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, ACUI_RESIDENT_COLUMNS)                \
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
