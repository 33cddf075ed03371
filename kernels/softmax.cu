/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Softmax and its logarithm, by a group of threads for each kept element:
 *
 *   softmax_rows   rows that are dense, of float or shorter, and fit into the group's registers: read once,
 *                  written once
 *   softmax        any number and strides: read twice; the sum is corrected whenever the maximum grows
 *   softmax_part, softmax_whole
 *                  the same for few kept elements with very many elements each: several groups share one;
 *                  each stores its maximum and sum, and reads those of all before it writes
 *
 * Nothing below tests for NaN: a NaN enters the sum, and so every result.
 */
#include "elements.cuh"

/* The group's largest value, or its sum, for all of its threads. One barrier each is enough:
 * between two uses of one shared array lies the barrier of the other. */
template <typename T> ACUI_DEVICE T acui_largest_of(T value, int group)
{
    __shared__ T values[ACUI_SOFTMAX_BLOCK / 32];
    int warp = (int)threadIdx.x >> 5, first = warp & ~((group >> 5) - 1);
    for (int half = (group < 32 ? group : 32) >> 1; half > 0; half >>= 1)
        value = max(value, __shfl_xor_sync(0xffffffffu, value, half));
    if (group <= 32)
        return value;
    values[warp] = value;
    __syncthreads();
#pragma unroll 1
    for (int w = 0; w < group >> 5; w++)
        value = max(value, values[first + w]);
    return value;
}
ACUI_DEVICE double acui_sum_of(double value, int group)
{
    __shared__ double values[ACUI_SOFTMAX_BLOCK / 32];
    int warp = (int)threadIdx.x >> 5, first = warp & ~((group >> 5) - 1);
    for (int half = (group < 32 ? group : 32) >> 1; half > 0; half >>= 1)
        value += __shfl_xor_sync(0xffffffffu, value, half);
    if (group <= 32)
        return value;
    values[warp] = value;
    __syncthreads();
    value = values[first];
#pragma unroll 1
    for (int w = 1; w < group >> 5; w++)
        value += values[first + w];
    return value;
}

/*
 * e^x for x <= 0 or NaN: exp() of math.cuh in 16 instructions instead of 26. Adding 1.5 2^23 rounds
 * to the integer n and leaves it in the low bits. 2^n is applied in two steps, one of them fixed,
 * so that small results are rounded once.
 */
ACUI_DEVICE float acui_large_power(float x) /* times 2^32 */
{
    x = x < -104.0f ? -104.0f : x;
    float t = fmaf(x, 1.44269504f, 12582912.0f), k = t - 12582912.0f;
    float r = fmaf(k, 1.90465421e-9f, fmaf(k, -0.693147182f, x));
    float scale = __uint_as_float((__float_as_uint(t) << 23) + ((127u + 32u) << 23));
    return (1.0f + acui_expm1_core(r)) * scale;
}
ACUI_DEVICE float acui_power(float x) { return acui_large_power(x) * 2.32830644e-10f; }

/* The same in 11 instructions, within 3e-6 of it: of a result of 11 bits that is a hundredth of the
 * last. An H100 that reads elements of two bytes has time for some 20 instructions each. */
ACUI_DEVICE float acui_large_power_short(float x)
{
    x = x < -110.3f ? -110.3f : x; /* 2^-159, which becomes 0 */
    const float t = __fmaf_rn(x, 1.44269504f, 12582912.0f), k = t - 12582912.0f;
    const float r = __fmaf_rn(x, 1.44269504f, -k);
    float y = __fmaf_rn(r, 0.00958286f, 0.05590646f);
    y = __fmaf_rn(r, y, 0.24024099f);
    y = __fmaf_rn(r, y, 0.69312419f);
    y = __fmaf_rn(r, y, 1.0f);
    return y * __uint_as_float((__float_as_uint(t) << 23) + ((127u + 32u) << 23));
}
ACUI_DEVICE double acui_power(double x) { return exp(x); }

/* ---- rows in registers -------------------------------------------------------------------------------- */

/* Minus infinity, four times, as it is in memory. */
ACUI_DEVICE void acui_none(acui_half, uint2 &v) { v = make_uint2(0xfc00fc00u, 0xfc00fc00u); }
ACUI_DEVICE void acui_none(acui_brain, uint2 &v) { v = make_uint2(0xff80ff80u, 0xff80ff80u); }
template <typename F> ACUI_DEVICE void acui_none(F, float4 &v)
{
    const float none = -__builtin_inff();
    v = make_float4(none, none, none, none);
}

/*
 * Each thread holds ACUI_SOFTMAX_HELD bytes, in vectors. All reads are under way before the first
 * value is used; what is beyond the row's end counts as minus infinity. Only the sum of a vector
 * becomes a double: an H100 converts 16 numbers in a cycle. Several blocks share an SM, so that
 * some read while others compute.
 */
template <typename Class> struct acui_held {
    typedef Class C;
    typedef float T;
    static const int V = C::V, COUNT = ACUI_SOFTMAX_HELD / (int)sizeof(T), VECTORS = COUNT / V;

    ACUI_DEVICE void read(const acui_softmax &p, const char *x, long long offset, int lane, T (&e)[COUNT])
    {
        const int count = (int)p.count;
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            typename F::raw raw[VECTORS];
            x += offset * F::BYTES;
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                const int i = (v * p.group + lane) * V;
                acui_none(F(), raw[v]);
                if (i < count)
                    raw[v] = *(const typename F::raw *)(x + i * F::BYTES);
            }
#pragma unroll
            for (int v = 0; v < VECTORS; v++)
                F::take(raw[v], &e[v * V]);
        });
    }

    ACUI_DEVICE void write(const acui_softmax &p, char *out, long long offset, int lane, const T (&e)[COUNT])
    {
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            out += offset * F::BYTES;
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                int i = (v * p.group + lane) * V;
                if (i < (int)p.count)
                    F::write(out + i * F::BYTES, &e[v * V]);
            }
        });
    }

    /* Turns elements into results, all but the last step; returns the sum of the powers. All powers
     * are 2^32 as large, which spares a rounding of small ones. */
    template <bool LOG> ACUI_DEVICE double powers(const acui_softmax &p, T (&e)[COUNT], T &most)
    {
        most = e[0];
#pragma unroll
        for (int k = 1; k < COUNT; k++)
            most = max(most, e[k]);
        most = acui_largest_of(most, p.group);
        double sum = 0;
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            if (v * V * p.group >= (int)p.count) /* beyond the row, as are all that follow */
                break;
            T power[V];
#pragma unroll
            for (int k = 0; k < V; k++) {
                T &of = e[v * V + k];
                of -= most;
                power[k] = C::SHORTEST == 2 ? acui_large_power_short(of) : acui_large_power(of);
                if (!LOG)
                    of = power[k];
            }
            sum += (double)((power[0] + power[1]) + (power[2] + power[3]));
        }
        return acui_sum_of(sum, p.group);
    }

    template <bool LOG> ACUI_DEVICE void row(const acui_softmax &p, T (&e)[COUNT])
    {
        T most;
        const double sum = powers<LOG>(p, e, most);
        const T scale = LOG ? (T)log(sum * 2.3283064365386963e-10) : 1.0f / (T)sum;
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            e[k] = LOG ? e[k] - scale : e[k] * scale;
    }

    ACUI_DEVICE void run(const acui_softmax &p, char *out, const char *x)
    {
        const int lane = (int)threadIdx.x & (p.group - 1), in_block = (int)blockDim.x / p.group;
        for (long long base = (long long)blockIdx.x * in_block; base < p.kept_count;
             base += (long long)gridDim.x * in_block) {
            long long unit = base + (int)threadIdx.x / p.group, offset[2];
            acui_offsets<2>(p.kept, p.at, unit < p.kept_count ? unit : base, offset);
            T e[COUNT];
            read(p, x, offset[1], lane, e);
            if (p.log)
                row<true>(p, e);
            else
                row<false>(p, e);
            if (unit < p.kept_count)
                write(p, out, offset[0], lane, e);
        }
    }
};

/* ---- any ---------------------------------------------------------------------------------------------- */

template <typename C> struct acui_soften {
    typedef typename C::value T;
    static const int FEW = 4; /* reads under way at once */

    /* Reads elements i, i + group, ... before `end`; those beyond are minus infinity. */
    ACUI_DEVICE void read(const acui_softmax &p, const char *x, long long i, long long end, T (&e)[FEW])
    {
        C::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int k = 0; k < FEW; k++) {
                long long n = i + k * p.group;
                e[k] = F::template read_one<T>(x + (n < end ? n : i) * p.x_stride * F::BYTES);
            }
        });
#pragma unroll
        for (int k = 0; k < FEW; k++)
            e[k] = i + k * p.group < end ? e[k] : -(T)__builtin_inf();
    }

    /* The largest element, and the sum of the powers of all elements relative to it, for all
     * threads of the group. While the largest is minus infinity nothing is subtracted, and all
     * powers are 0. */
    ACUI_DEVICE double look(const acui_softmax &p, const char *x, long long i, long long end, T *largest)
    {
        T most = -(T)__builtin_inf(), base = 0, e[FEW];
        double sum = 0;
#pragma unroll 1
        for (; i < end; i += FEW * p.group) {
            read(p, x, i, end, e);
            T now = max(max(e[0], e[1]), max(e[2], e[3]));
            if (now > most) {
                if (most > -(T)__builtin_inf()) /* else there is no sum yet, but perhaps a NaN */
                    sum *= exp((double)most - (double)now);
                most = base = now;
            }
#pragma unroll
            for (int k = 0; k < FEW; k++)
                sum += (double)acui_power(e[k] - base);
        }
        return together(p, most, sum, largest);
    }

    ACUI_DEVICE double together(const acui_softmax &p, T most, double sum, T *largest)
    {
        *largest = acui_largest_of(most, p.group);
        sum = sum == 0 ? 0 : sum * exp((most == -(T)__builtin_inf() ? 0 : (double)most) - (double)*largest);
        return acui_sum_of(sum, p.group);
    }

    ACUI_DEVICE void write(const acui_softmax &p, char *out, const char *x, long long i, long long end,
                           T most, double sum)
    {
        T scale = (T)(1.0 / sum), down = p.log ? (T)log(sum) : (T)0, e[FEW];
#pragma unroll 1
        for (; i < end; i += FEW * p.group) {
            read(p, x, i, end, e);
#pragma unroll
            for (int k = 0; k < FEW; k++) {
                T less = e[k] - most;
                e[k] = p.log ? less - down : acui_power(less) * scale;
            }
            C::with(p.dtype, [&](auto format) ACUI_INLINE {
                typedef decltype(format) F;
#pragma unroll
                for (int k = 0; k < FEW; k++)
                    if (i + k * p.group < end)
                        F::write_one(out + (i + k * p.group) * p.out_stride * F::BYTES, e[k]);
            });
        }
    }

    /* Calls f(row, its result, its elements, our first element, end) for the units of each group in
     * turn. `splits` groups share a row. Groups beyond the last row have nothing to do, but must
     * take part in barriers. */
    template <typename Each>
    ACUI_DEVICE void each(const acui_softmax &p, char *out, const char *x, int splits, Each f)
    {
        const int lane = (int)threadIdx.x & (p.group - 1), in_block = (int)blockDim.x / p.group;
        int bytes = 0;
        C::with(p.dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
        for (long long base = (long long)blockIdx.x * in_block; base < p.kept_count * splits;
             base += (long long)gridDim.x * in_block) {
            long long unit = base + (int)threadIdx.x / p.group, offset[2];
            bool there = unit < p.kept_count * splits;
            long long row = (there ? unit : base) / splits, begin = unit % splits * p.chunk;
            long long end = !there ? begin : begin + p.chunk < p.count ? begin + p.chunk : p.count;
            acui_offsets<2>(p.kept, p.at, row, offset);
            f(row, out + offset[0] * bytes, x + offset[1] * bytes, begin + lane, end);
        }
    }

    ACUI_DEVICE void run(const acui_softmax &p, char *out, const char *x)
    {
        each(p, out, x, 1, [&](long long, char *to, const char *from, long long i, long long end) ACUI_INLINE {
            T most;
            double sum = look(p, from, i, end, &most);
            write(p, to, from, i, end, most, sum);
        });
    }

    /* Stores the largest value and the sum of each split of all rows. */
    ACUI_DEVICE void part(const acui_softmax &p, double *partial, const char *x)
    {
        each(p, 0, x, p.splits, [&](long long row, char *, const char *from, long long i, long long end) ACUI_INLINE {
            T most;
            double sum = look(p, from, i, end, &most);
            int lane = (int)threadIdx.x & (p.group - 1);
            double *to = partial + (row * p.splits + (i - lane) / p.chunk) * 2;
            if (lane == 0 && i < end) {
                to[0] = (double)most;
                to[1] = sum;
            }
        });
    }
    ACUI_DEVICE void whole(const acui_softmax &p, char *out, const char *x, const double *partial)
    {
        each(p, out, x, p.splits, [&](long long row, char *to, const char *from, long long i, long long end) ACUI_INLINE {
            int lane = (int)threadIdx.x & (p.group - 1); /* each thread takes one split; there are
                                                          * no more */
            const double *of = partial + (row * p.splits + lane) * 2;
            bool there = lane < p.splits;
            T most = there ? (T)of[0] : -(T)__builtin_inf();
            double sum = together(p, most, there ? of[1] : 0, &most);
            write(p, to, from, i, end, most, sum);
        });
    }
};

/* ---- cross entropy ------------------------------------------------------------------------------------ */

/* The logarithm of the sum less the target's element, by the first thread of a row, which knows the
 * largest element and the sum relative to it. No target: 0. */
template <typename C>
ACUI_DEVICE void acui_put_loss(const acui_softmax &p, char *out, const char *x, const char *targets, long long row,
                               typename C::value most, double sum)
{
    long long at[3];
    acui_offsets<3>(p.kept, p.at, row, at);
    long long target = p.target_bytes == 4 ? ((const int *)targets)[at[2]] : ((const long long *)targets)[at[2]];
    target += target < 0 ? p.count : 0;
    const bool there = target >= 0 && target < p.count;
    const double down = log(sum);
    C::with(p.dtype, [&](auto format) ACUI_INLINE {
        typedef decltype(format) F;
        const char *own = x + (at[1] + (there ? target : 0) * p.x_stride) * F::BYTES;
        const double less = (double)F::template read_one<typename C::value>(own) - (double)most;
        F::write_one(out + at[0] * F::BYTES, (typename C::value)(there ? down - less : 0));
    });
}

template <typename C, typename H>
ACUI_DEVICE void acui_loss(const acui_softmax &p, char *out, const char *x, const char *targets, bool held)
{
    typedef typename C::value T;
    const int lane = (int)threadIdx.x & (p.group - 1), in_block = (int)blockDim.x / p.group;
    for (long long base = (long long)blockIdx.x * in_block; base < p.kept_count;
         base += (long long)gridDim.x * in_block) {
        const long long unit = base + (int)threadIdx.x / p.group, row = unit < p.kept_count ? unit : base;
        long long offset[2];
        T most;
        double sum;
        acui_offsets<2>(p.kept, p.at, row, offset);
        if (sizeof(T) == 4 && held) {
            typedef acui_held<H> rows;
            float e[rows::COUNT], largest;
            rows::read(p, x, offset[1], lane, e);
            sum = rows::template powers<true>(p, e, largest) * 2.3283064365386963e-10;
            most = (T)largest;
        } else {
            int bytes = 0;
            C::with(p.dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
            sum = acui_soften<C>::look(p, x + offset[1] * bytes, lane, p.count, &most);
        }
        if (lane == 0 && unit < p.kept_count)
            acui_put_loss<C>(p, out, x, targets, row, most, sum);
    }
}

/* The host made sure that rows begin at whole vectors if both tensors do: 16 bytes, or 8 for short
 * elements. */
ACUI_DEVICE bool acui_in_vectors(const acui_softmax &p, const char *out, const char *x)
{
    unsigned bytes = p.dtype == ACU_F16 || p.dtype == ACU_BF16 ? 8 : 16;
    return (((unsigned long long)out | (unsigned long long)x) & (bytes - 1)) == 0;
}

#define ACUI_SOFTMAX(class)                                                                        \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        softmax_##class(char *out, const char *x, acui_softmax p)                                  \
    {                                                                                              \
        acui_soften<acui_real_##class>::run(p, out, x);                                            \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        softmax_part_##class(double *partial, const char *x, acui_softmax p)                       \
    {                                                                                              \
        acui_soften<acui_real_##class>::part(p, partial, x);                                       \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        softmax_whole_##class(char *out, const char *x, const double *partial, acui_softmax p)     \
    {                                                                                              \
        acui_soften<acui_real_##class>::whole(p, out, x, partial);                                 \
    }
ACUI_SOFTMAX(f)
ACUI_SOFTMAX(d)

#define ACUI_ROWS(class)                                                                           \
    extern "C" __global__ void __launch_bounds__(ACUI_SOFTMAX_BLOCK, 2)                            \
        softmax_rows_##class(char *out, const char *x, acui_softmax p)                             \
    {                                                                                              \
        if (acui_in_vectors(p, out, x))                                                            \
            acui_held<acui_real_##class>::run(p, out, x);                                          \
        else                                                                                       \
            acui_soften<acui_real_##class>::run(p, out, x);                                        \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_SOFTMAX_BLOCK, 2)                            \
        loss_##class(char *out, const char *x, const char *targets, acui_softmax p)                \
    {                                                                                              \
        acui_loss<acui_real_##class, acui_real_##class>(p, out, x, targets,                        \
                                                        p.held && acui_in_vectors(p, x, x));       \
    }
ACUI_ROWS(h) /* of two bytes */
ACUI_ROWS(s) /* f32 */

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    loss_d(char *out, const char *x, const char *targets, acui_softmax p)
{
    acui_loss<acui_real_d, acui_real_s>(p, out, x, targets, false);
}
