/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reductions. Values are accumulated in double, integers in 64 bits, by each thread and then in a
 * tree. What is added to what follows from the parameters alone, so that the same input gives the
 * same bits every time.
 *
 *   rows      a group of threads for each kept element (and split); any strides
 *   columns   neighbouring threads for neighbouring kept elements, where these are neighbours in memory
 *   end       combines the partial results of the splits
 *   args, columns_args, end_args: the same for argmin and argmax
 *
 * A loop that reads must not spill registers: data that streams through the L1 cache evicts the
 * spills, and each turn then waits for memory once more. So vectors lie a constant distance apart.
 */
#ifndef ACUDA_KERNELS_REDUCE_CUH
#define ACUDA_KERNELS_REDUCE_CUH

#include "formats.cuh"

/* ---- classes: C reads and writes, A accumulates ----------------------------------------------------- */

/* Integers as they are reduced: in 64 bits. */
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

/* Elements of any type are read as words. */
typedef unsigned acui_word __attribute__((may_alias));
/* In assembly: otherwise the compiler splits a vector, and reads its parts where they are used. */
template <int BYTES> ACUI_DEVICE void acui_load(const char *at, acui_word *w)
{
    unsigned long long from = (unsigned long long)at;
    if constexpr (BYTES == 16)
        __asm__("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                : "l"(from));
    else if constexpr (BYTES == 8)
        __asm__("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(from));
    else if constexpr (BYTES == 4)
        __asm__("ld.global.u32 %0, [%1];" : "=r"(w[0]) : "l"(from));
    else
        __asm__("ld.global.u16 %0, [%1];" : "=r"(w[0]) : "l"(from));
}

/*
 * What a thread reads before it uses any of it: COUNT elements, in vectors of 16 bytes. That is 64
 * or 128 bytes for each of the some 1,000 threads that fit on an SM of an H100, at least three
 * times what must be under way to hide the memory's latency. The format is switched on once in a
 * turn, so that the computation exists once for all formats. FEW elements are one vector of the
 * shortest type, or two.
 */
template <typename C> struct acui_wide {
    typedef typename C::value T;
    static const int COUNT = sizeof(T) == 4 ? 32 : 16, FEW = sizeof(T) == 4 ? 8 : C::SHORTEST == 8 ? 4 : 16;

    /* Reads vectors that are STEP bytes apart, from x on. */
    template <int STEP, int N> ACUI_DEVICE void read(int dtype, const char *x, T (&e)[N])
    {
        C::with(dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            __align__(16) acui_word words[N * F::BYTES / 4];
#pragma unroll
            for (int u = 0; u < N * F::BYTES / 16; u++)
                acui_load<16>(x + u * STEP, &words[4 * u]);
#pragma unroll
            for (int i = 0; i < N; i += C::V)
                F::read((const char *)words + i * F::BYTES, &e[i]);
        });
    }
};

/* The shift for which elements have 1 << shift bytes. */
template <typename C> ACUI_DEVICE int acui_shift_of(int dtype)
{
    int bytes = 0;
    C::with(dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
    return (bytes > 1) + (bytes > 2) + (bytes > 4);
}
/* The base-2 logarithm of a power of two. */
ACUI_DEVICE int acui_log(int power) { return 31 - __clz(power); }
/* n / d, which is below `most`; avoids the division where the operands already tell the result. */
ACUI_DEVICE long long acui_quotient(long long n, long long d, long long most)
{
    return most == 1 ? 0 : d == 1 ? n : n / d;
}

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
    case ACU_REDUCE_ARGMIN: /* the largest, with the order reversed */
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
/* Maps the order of unsigned 64-bit integers to that of signed ones. */
ACUI_DEVICE double acui_flip(double v, double) { return v; }
ACUI_DEVICE long long acui_flip(long long v, long long flip) { return v ^ flip; }

/* Adds COUNT elements to V accumulators, with the switch outside of the loop. */
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

/* Whether (v, i) comes before (best, at): larger, or the first of equals; NaN is the largest. */
template <typename A> ACUI_DEVICE bool acui_better(A v, long long i, A best, long long at)
{
    bool nan = v != v, equal = (v == best) | (nan & (best != best));
    return (v > best) | (equal & (i < at)) | (nan & !equal);
}

/* Flips bits (of a float the sign, of an integer all) for argmin, so that the largest value is
 * always the one looked for. */
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

/* Combines the values of the group's threads for its first thread, in trees by warps; all threads
 * of the block take part. */
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

/* ---- what a thread knows so far ------------------------------------------------------------------- */

/*
 * What a thread keeps of V neighbouring elements, turn after turn: V accumulators; or, for each,
 * the largest value and in which turn it came, -1 while none was above the least value. (Keeping
 * the place with each value costs five instructions an element; an H100 can issue some 35 in the
 * time that its memory needs for one of 4 bytes.)
 */
#define ACUI_MEMBER __device__ inline ACUI_INLINE
template <typename S, bool ARG> struct acui_state {
    typedef typename S::type A;
    typedef typename S::in::value T;
    static const int V = S::in::V;
    A a[V];

    ACUI_MEMBER void start(const acui_reduction &p)
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            a[k] = acui_start<A>(p.op);
    }
    template <int COUNT, int STEP> ACUI_MEMBER void take(const acui_reduction &p, const T (&e)[COUNT], int)
    {
        acui_accumulate<A, T, V, COUNT>(p.op, a, e, acui_flip_of<A>(p));
    }
    ACUI_MEMBER void give(int k, A &value, int &) { value = a[k]; }
};

template <typename S> struct acui_state<S, true> {
    typedef typename S::type A;
    typedef typename S::in::value T;
    static const int V = S::in::V;
    T best[V];
    int when[V];

    ACUI_MEMBER void start(const acui_reduction &)
    {
#pragma unroll
        for (int k = 0; k < V; k++) {
            best[k] = (T)acui_least((A)0);
            when[k] = -1;
        }
    }
    /* `first` numbers the first V elements; the numbers of the next are STEP apart. */
    template <int COUNT, int STEP>
    ACUI_MEMBER void take(const acui_reduction &p, const T (&e)[COUNT], int first)
    {
        const long long mask = acui_mask_of<T>(p);
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            T v = acui_masked(e[k], mask);
            bool better = (best[k % V] == best[k % V]) & !(v <= best[k % V]); /* or the first NaN */
            best[k % V] = better ? v : best[k % V];
            when[k % V] = better ? first + k / V * STEP : when[k % V];
        }
    }
    ACUI_MEMBER void give(int k, A &value, int &number)
    {
        value = (A)best[k];
        number = when[k];
    }
};

/* ---- rows --------------------------------------------------------------------------------------- */

template <typename S, bool ARG> struct acui_rows {
    typedef typename S::type A;
    typedef typename S::in C;
    typedef typename C::value T;
    typedef acui_wide<C> W;
    typedef acui_state<S, ARG> state;
    static const int V = C::V, TIMES = W::COUNT / V, FEW = ARG ? 4 : 1; /* single elements under way at once */

    /* In a turn a warp reads 32 COUNT neighbours, in vectors 512 bytes apart. Returns where a
     * thread's first one is. */
    ACUI_DEVICE long long first_of(int lane, int lanes)
    {
        return (lane >> 5) * (32 * W::COUNT) + (lane & 31) * lanes;
    }

    /* Takes `count` neighbours in memory, of 1 << shift bytes each, from x on, which is aligned to
     * 16 bytes: COUNT at once, as long as every thread of the group has that many. Returns how many
     * elements that was. */
    ACUI_DEVICE long long turns(const acui_reduction &p, const char *x, long long count, int shift, int lane,
                                state &mine)
    {
        const int turn = p.group * W::COUNT, log = acui_log(turn), step = turn << shift;
        const int times = p.group < 32 ? 0 : (int)(count >> log) * TIMES;
        const char *from = x + (first_of(lane, 16 >> shift) << shift);
#pragma unroll 1
        for (int number = 0; number < times; number += TIMES, from += step) {
            T e[W::COUNT];
            W::template read<512>(p.dtype, from, e);
            mine.template take<W::COUNT, 1>(p, e, number);
        }
        return p.group < 32 ? 0 : count >> log << log;
    }

    /* Takes the turns, and then FEW elements at once. */
    ACUI_DEVICE long long vectors(const acui_reduction &p, const char *x, long long count, int shift, int lane,
                                  state &mine)
    {
        long long done = turns(p, x, count, shift, lane, mine);
#pragma unroll 1
        for (done += lane * W::FEW; done + W::FEW <= count; done += p.group * W::FEW) {
            T e[W::FEW];
            W::template read<16>(p.dtype, x + (done << shift), e);
            mine.template take<W::FEW, 1>(p, e, 0);
        }
        return count / W::FEW * W::FEW;
    }

    /* The turns for argmin and argmax: finds which of `count` elements it is, if there were any. */
    ACUI_DEVICE long long pick(const acui_reduction &p, const char *x, long long count, int shift, int lane,
                               A &value, long long &at)
    {
        state mine;
        mine.start(p);
        const long long turn = (long long)p.group * W::COUNT, done = turns(p, x, count, shift, lane, mine);
        const int lanes = 16 >> shift;
#pragma unroll
        for (int k = 0; k < V && done > 0; k++) {
            A best;
            int number;
            mine.give(k, best, number);
            number = number < 0 ? 0 : number; /* then all are the least, and the first one is it */
            int found = number % TIMES * V + k;
            /* vector number found / lanes, with 31 vectors of other threads between two of ours */
            long long place = number / TIMES * turn + first_of(lane, lanes) + found + (found & ~(lanes - 1)) * 31;
            acui_join<A, true>(p.op, best, place, value, at);
        }
        return done;
    }

    ACUI_DEVICE void one(const acui_reduction &p, T e, long long i, state &mine, A &value, long long &at)
    {
        if constexpr (ARG) {
            acui_join<A, true>(p.op, (A)acui_masked(e, acui_mask_of<T>(p)), i, value, at);
        } else {
            const T x[1] = {e};
            mine.template take<1, 1>(p, x, 0);
        }
    }

    /* Takes `count` elements from number `begin` on. Those before the first whole vector and after
     * the last one, and those with gaps, go one by one. */
    ACUI_DEVICE void some(const acui_reduction &p, const char *x, long long begin, long long count,
                          int lane, state &mine, A &value, long long &at)
    {
        const long long none = 0x7fffffffffffffffll;
        long long head = 0, middle = 0, place = none;
        if (p.contiguous) {
            const int shift = acui_shift_of<C>(p.dtype);
            const char *first = x + (begin << shift);
            head = (long long)((0ull - (unsigned long long)first) & 15) >> shift;
            head = head < count ? head : count;
            first += head << shift;
            if constexpr (ARG)
                middle = pick(p, first, count - head, shift, lane, value, place);
            else
                middle = vectors(p, first, count - head, shift, lane, mine);
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
            for (int k = 0; k < FEW; k++) /* repeats the first if there are no more: that changes no
                                           * place */
                one(p, e[k], element[k], mine, value, at);
        }
    }

    ACUI_DEVICE void run(const acui_reduction &p, char *out, const char *x, char *partial)
    {
        const int log = acui_log(p.group), lane = (int)threadIdx.x & (p.group - 1), in_block = ACUI_BLOCK >> log;
        long long units = p.kept_count * p.splits;
        for (long long base = (long long)blockIdx.x * in_block; base < units;
             base += (long long)gridDim.x * in_block) {
            long long unit = base + ((int)threadIdx.x >> log);
            long long split = acui_quotient(unit, p.kept_count, p.splits), row = unit - split * p.kept_count;
            long long begin = split * p.chunk; /* neighbours have neighbouring rows */
            long long end = begin + p.chunk < p.reduced_count ? begin + p.chunk : p.reduced_count;
            A value = acui_start<A>(p.op);
            state mine;
            mine.start(p);
            long long at = 0x7fffffffffffffffll, offset = 0;
            if (unit < units) {
                acui_offsets<1>(p.kept, &p.x, row, &offset);
                some(p, x + (offset << acui_shift_of<C>(p.dtype)), begin, end - begin, lane, mine, value, at);
            }
            if constexpr (!ARG) {
#pragma unroll
                for (int k = 0; k < V; k++)
                    value = acui_combine(p.op, value, mine.a[k]);
            }
            acui_tree<A, ARG>(p.op, p.group, value, at);
            if (lane == 0 && unit < units)
                acui_finish<S, ARG>(p, out, partial, row, (int)split, value, at);
        }
    }
};

/* ---- columns: the last kept dimension lies in memory without gaps ------------------------------------ */

template <typename S, bool ARG> struct acui_columns {
    typedef typename S::type A;
    typedef typename S::in C;
    typedef typename C::value T;
    typedef acui_state<S, ARG> state;
    static const int V = C::V, WIDE = 32, DEEP = ACUI_BLOCK / WIDE, ROWS = 8;

    /* Loads V columns from x on, `columns` of which exist; rows i, i + DEEP, ... before `count`. */
    ACUI_DEVICE void load(const acui_reduction &p, const char *x, long long begin, int i, int count, int columns,
                          state &mine)
    {
        const int shift = acui_shift_of<C>(p.dtype);
        const long long step = p.along.stride[0] << shift;
        bool vectors = p.reduced.rank == 1 && columns == V &&
                       (((unsigned long long)x | (unsigned long long)step) & ((V << shift) - 1)) == 0;
        if (vectors) {
            const char *from = x + (begin + i) * step;
#pragma unroll 1
            for (; i + (ROWS - 1) * DEEP < count; i += ROWS * DEEP) {
                T e[ROWS * V];
                C::with(p.dtype, [&](auto format) ACUI_INLINE {
                    typedef decltype(format) F;
                    __align__(16) acui_word words[ROWS][4];
#pragma unroll
                    for (int r = 0; r < ROWS; r++, from += step * DEEP)
                        acui_load<V * F::BYTES>(from, words[r]);
#pragma unroll
                    for (int r = 0; r < ROWS; r++)
                        F::read((const char *)words[r], &e[r * V]);
                });
                mine.template take<ROWS * V, DEEP>(p, e, i);
            }
        }
#pragma unroll 1
        for (; i < count; i += DEEP) {
            T e[V];
            long long offset;
            acui_offsets<1>(p.reduced, &p.along, begin + i, &offset);
            C::with(p.dtype, [&](auto format) ACUI_INLINE {
                typedef decltype(format) F;
#pragma unroll
                for (int k = 0; k < V; k++)
                    e[k] = F::template read_one<T>(x + (offset + (k < columns ? k : 0)) * F::BYTES);
            });
            mine.template take<V, DEEP>(p, e, i);
        }
    }

    ACUI_DEVICE void run(const acui_reduction &p, char *out, const char *x, char *partial)
    {
        __shared__ A values[DEEP][WIDE * V];
        __shared__ long long places[ARG ? DEEP : 1][ARG ? WIDE * V : 1];
        const int wide = (int)threadIdx.x % WIDE * V, deep = (int)threadIdx.x / WIDE;
        const long long columns = p.kept.dim[p.kept.rank - 1], tiles = (columns + WIDE * V - 1) / (WIDE * V);
        const long long outer = p.kept.rank == 1 ? 1 : p.kept_count / columns;
        for (long long unit = blockIdx.x; unit < outer * tiles * p.splits; unit += gridDim.x) {
            long long tile = acui_quotient(unit, p.splits, outer * tiles), split = unit - tile * p.splits;
            long long row = acui_quotient(tile, tiles, outer);
            tile -= row * tiles;
            const long long column = tile * (WIDE * V) + wide, begin = split * p.chunk;
            const int there = column >= columns ? 0 : columns - column < V ? (int)(columns - column) : V;
            const int count = (int)(p.reduced_count - begin < p.chunk ? p.reduced_count - begin : p.chunk);
            state mine;
            mine.start(p);
            if (there > 0) {
                long long offset;
                acui_offsets<1>(p.kept, &p.x, row * columns + column, &offset);
                load(p, x + (offset << acui_shift_of<C>(p.dtype)), begin, deep, count, there, mine);
            }
            __syncthreads(); /* of the turn before */
#pragma unroll
            for (int k = 0; k < V; k++) {
                int row_of = 0; /* the first, if all are the least */
                mine.give(k, values[deep][wide + k], row_of);
                if (ARG)
                    places[deep][wide + k] =
                        deep >= count ? 0x7fffffffffffffffll : begin + (row_of < 0 ? deep : row_of);
            }
            __syncthreads();
            for (int c = (int)threadIdx.x; c < WIDE * V && tile * (WIDE * V) + c < columns; c += ACUI_BLOCK) {
                A value = values[0][c];
                long long at = ARG ? places[0][c] : 0;
#pragma unroll
                for (int k = 1; k < DEEP; k++)
                    acui_join<A, ARG>(p.op, values[k][c], ARG ? places[k][c] : 0, value, at);
                acui_finish<S, ARG>(p, out, partial, row * columns + tile * (WIDE * V) + c, (int)split, value, at);
            }
        }
    }
};

/* ---- the end ------------------------------------------------------------------------------------ */

#define ACUI_PARTS 8

/* Takes partial results i, i + group, ... of a kept element, ACUI_PARTS of them under way at once:
 * a launch of one block takes about as long as the reads that wait for each other. */
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
    if (!ARG) { /* partial norms are sums of squares already */
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
    const int log = acui_log(p.group), lane = (int)threadIdx.x & (p.group - 1), in_block = ACUI_BLOCK >> log;
    const A *values = (const A *)partial;
    const long long *places = (const long long *)partial + p.kept_count * p.splits;
    for (long long base = (long long)blockIdx.x * in_block; base < p.kept_count;
         base += (long long)gridDim.x * in_block) {
        long long row = base + ((int)threadIdx.x >> log), at = 0x7fffffffffffffffll;
        A value = acui_start<A>(p.op);
        for (int i = lane; row < p.kept_count && i < p.splits; i += ACUI_PARTS * p.group)
            acui_parts<A, ARG>(p, values, places, row * p.splits, i, value, at);
        acui_tree<A, ARG>(p.op, p.group, value, at);
        if (lane == 0 && row < p.kept_count)
            acui_finish<S, ARG>(p, out, 0, row, 0, value, at);
    }
}

/* Blocks that should fit on an SM at once: with 80 registers a thread nothing is spilled. */
#define ACUI_RESIDENT 3

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
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, ACUI_RESIDENT)                        \
        columns_##class(char *out, const char *x, char *partial, acui_reduction p)                 \
    {                                                                                              \
        acui_columns<acui_sum_##class, false>::run(p, out, x, partial);                            \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, ACUI_RESIDENT)                        \
        columns_args_##class(char *out, const char *x, char *partial, acui_reduction p)            \
    {                                                                                              \
        acui_columns<acui_sum_##class, true>::run(p, out, x, partial);                             \
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
