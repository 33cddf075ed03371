/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elements found by index (one kernel for each size of a unit), and indices found for elements. */
#include "formats.cuh"

#include "../src/ops/index/params.h"

typedef unsigned unit16 __attribute__((ext_vector_type(4)));

/* Finds the places of unit i in the result and in x; gives whether the index is in range. */
ACUI_DEVICE bool find(const acui_gather &p, const char *indices, long long i, long long &to, long long &from)
{
    long long at = 0, k;
    to = from = 0;
    for (int d = p.index.rank - 1; d >= 0; d--) {
        long long rest = 0;
        if (d > 0)
            rest = p.index.wide ? i / p.index.dim[d] : (long long)acui_divide(p.index, d, (unsigned)i);
        const long long x = i - rest * p.index.dim[d];
        i = rest;
        to += x * p.to[d];
        from += x * p.from[d];
        at += x * p.at[d];
    }
    k = p.index_bytes == 4 ? ((const int *)indices)[at] : ((const long long *)indices)[at];
    k += k < 0 ? p.extent : 0;
    from += k * p.along;
    return k >= 0 && k < p.extent;
}

template <typename T> ACUI_DEVICE void zero(T &v) { v = T(); }
ACUI_DEVICE void zero(unit16 &v) { v.x = v.y = v.z = v.w = 0; }

template <typename T>
ACUI_DEVICE void gather(char *out, const char *x, const char *indices, const acui_gather &p)
{
    const long long chunk = ACUI_UNROLL * ACUI_BLOCK; /* of a block: neighbours */
    const bool aligned = ((unsigned long long)out | (unsigned long long)x) % sizeof(T) == 0;
    for (long long i = blockIdx.x * chunk + threadIdx.x; i < p.units; i += gridDim.x * chunk) {
        T v[ACUI_UNROLL];
        long long to[ACUI_UNROLL], from;
        if (!aligned) { /* memory that is not the library's may begin at any element */
            for (long long k = i; k < p.units && k < i + chunk; k += ACUI_BLOCK) {
                const bool inside = find(p, indices, k, to[0], from);
#pragma unroll 1
                for (int b = 0; b < (int)sizeof(T); b++)
                    out[to[0] + b] = inside ? x[from + b] : 0;
            }
            continue;
        }
#pragma unroll
        for (int k = 0; k < ACUI_UNROLL; k++) {
            zero(v[k]);
            if (i + k * ACUI_BLOCK < p.units && find(p, indices, i + k * ACUI_BLOCK, to[k], from))
                v[k] = *(const T *)(x + from);
        }
#pragma unroll
        for (int k = 0; k < ACUI_UNROLL; k++)
            if (i + k * ACUI_BLOCK < p.units)
                *(T *)(out + to[k]) = v[k];
    }
}

#define ACUI_X(bytes, type)                                                                        \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        gather_##bytes(char *out, const char *x, const char *indices, acui_gather p)               \
    {                                                                                              \
        gather<type>(out, x, indices, p);                                                          \
    }
ACUI_X(1, unsigned char)
ACUI_X(2, unsigned short)
ACUI_X(4, unsigned)
ACUI_X(8, unsigned long long)
ACUI_X(16, unit16)

/* ---- where values belong ------------------------------------------------------------------------- */

/* NaN is greater than every number. */
ACUI_DEVICE bool less(const acui_searching &, double a, double b) { return a < b || (b != b && a == a); }
ACUI_DEVICE bool less(const acui_searching &p, long long a, long long b)
{
    return p.dtype == ACU_U64 ? (unsigned long long)a < (unsigned long long)b : a < b;
}

template <typename C, typename T> ACUI_DEVICE T read(int dtype, const char *memory, long long i)
{
    T value = T();
    C::with(dtype, [&](auto format) ACUI_INLINE {
        typedef decltype(format) F;
        value = F::template read_one<T>(memory + i * F::BYTES);
    });
    return value;
}

template <typename C>
ACUI_DEVICE void search(long long *out, const char *sorted, const char *values, const acui_searching &p)
{
    typedef typename C::value T;
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < p.elements;
         i += (long long)gridDim.x * ACUI_BLOCK) {
        long long at[2], low = 0, high = p.count;
        acui_offsets<2>(p.index, p.at, i, at);
        const T value = read<C, T>(p.dtype, values, at[1]);
        while (low < high) {
            const long long middle = (low + high) / 2;
            const T other = read<C, T>(p.dtype, sorted, middle * p.stride);
            if (p.right ? !less(p, value, other) : less(p, other, value))
                low = middle + 1;
            else
                high = middle;
        }
        out[at[0]] = low;
    }
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    search_d(long long *out, const char *sorted, const char *values, acui_searching p)
{
    search<acui_all_d>(out, sorted, values, p);
}
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    search_l(long long *out, const char *sorted, const char *values, acui_searching p)
{
    search<acui_any_l>(out, sorted, values, p);
}
