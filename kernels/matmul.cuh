/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of matrices of any strides, in batches. A block computes a tile of the result from
 * strips of both operands in shared memory; a thread holds a small part of the tile in registers.
 * The next strips are being loaded while these are used. f16 and bf16 are multiplied and added in
 * float, complex numbers in double.
 */
#ifndef ACUDA_KERNELS_MATMUL_CUH
#define ACUDA_KERNELS_MATMUL_CUH

#include "elements.cuh"

/* a b + c; for integers modulo 2^bits. */
ACUI_DEVICE float acui_add_product(float a, float b, float c) { return fma(a, b, c); }
ACUI_DEVICE double acui_add_product(double a, double b, double c) { return fma(a, b, c); }
ACUI_DEVICE int acui_add_product(int a, int b, int c)
{
    return (int)((unsigned)a * (unsigned)b + (unsigned)c);
}
ACUI_DEVICE long long acui_add_product(long long a, long long b, long long c)
{
    return (long long)((unsigned long long)a * (unsigned long long)b + (unsigned long long)c);
}

/* Out of line, because a thread stores many elements. */
template <typename C>
ACUI_DEVICE_OUTLINE void acui_store(char *at, int dtype, typename C::value x)
{
    C::with(dtype, [&](auto format) ACUI_INLINE { decltype(format)::write_one(at, x); });
}

template <typename C, int TILE, int DEPTH, int EACH> struct acui_product {
    typedef typename C::value T;
    static const int SIDE = TILE / EACH; /* threads along a side of the tile */
    static const int PER = TILE * DEPTH / ACUI_BLOCK;
    static_assert(SIDE * SIDE == ACUI_BLOCK && PER * ACUI_BLOCK == TILE * DEPTH, "a block's threads");

    /* Which element of the strip is number `e` of this thread's share: its place across the tile
     * and along k. Neighbouring threads get neighbours in memory. */
    ACUI_DEVICE void place(int e, bool along_k, int *across, int *k)
    {
        int q = (int)threadIdx.x + e * ACUI_BLOCK;
        *k = along_k ? q % DEPTH : q / TILE;
        *across = along_k ? q / DEPTH : q % TILE;
    }
    ACUI_DEVICE void fetch(T (&x)[PER], const char *at, int dtype, long long across_stride,
                           long long k_stride, long long across_left, long long k_left)
    {
        C::with(dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int e = 0; e < PER; e++) {
                int across, k;
                place(e, k_stride == 1, &across, &k);
                x[e] = T();
                if (across < across_left && k < k_left)
                    x[e] = F::template read_one<T>(at + (across * across_stride + k * k_stride) *
                                                            F::BYTES);
            }
        });
    }
    ACUI_DEVICE void put(T (&strip)[DEPTH][TILE + 4], const T (&x)[PER], bool along_k)
    {
#pragma unroll
        for (int e = 0; e < PER; e++) {
            int across, k;
            place(e, along_k, &across, &k);
            strip[k][across] = x[e];
        }
    }

    ACUI_DEVICE void tile(const acui_matmul &p, char *out, const char *a, const char *b,
                          long long row, long long column)
    {
        __shared__ T left[DEPTH][TILE + 4], right[DEPTH][TILE + 4];
        int bytes = 0, y = (int)threadIdx.x / SIDE, x = (int)threadIdx.x % SIDE;
        C::with(p.dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
        T sum[EACH][EACH] = {}, next_a[PER], next_b[PER];
        a += row * p.a_row * bytes;
        b += column * p.b_column * bytes;
        fetch(next_a, a, p.dtype, p.a_row, p.a_column, p.m - row, p.k);
        fetch(next_b, b, p.dtype, p.b_column, p.b_row, p.n - column, p.k);
        for (long long k = 0; k < p.k; k += DEPTH) {
            __syncthreads(); /* the previous strips are used up */
            put(left, next_a, p.a_column == 1);
            put(right, next_b, p.b_row == 1);
            __syncthreads();
            if (k + DEPTH < p.k) {
                a += DEPTH * p.a_column * bytes;
                b += DEPTH * p.b_row * bytes;
                fetch(next_a, a, p.dtype, p.a_row, p.a_column, p.m - row, p.k - k - DEPTH);
                fetch(next_b, b, p.dtype, p.b_column, p.b_row, p.n - column, p.k - k - DEPTH);
            }
#pragma unroll
            for (int d = 0; d < DEPTH; d++) {
                T u[EACH], v[EACH];
#pragma unroll
                for (int i = 0; i < EACH; i++) {
                    u[i] = left[d][y * EACH + i];
                    v[i] = right[d][x + i * SIDE]; /* free of bank conflicts */
                }
#pragma unroll
                for (int i = 0; i < EACH; i++)
#pragma unroll
                    for (int j = 0; j < EACH; j++)
                        sum[i][j] = acui_add_product(u[i], v[j], sum[i][j]);
            }
        }
        out += ((row + y * EACH) * p.out_row + (column + x) * p.out_column) * bytes;
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++)
                if (row + y * EACH + i < p.m && column + x + j * SIDE < p.n)
                    acui_store<C>(out + (i * p.out_row + j * SIDE * p.out_column) * bytes, p.dtype,
                                  sum[i][j]);
    }

    ACUI_DEVICE void run(const acui_matmul &p, char *out, const char *a, const char *b)
    {
        long long down = (p.m + TILE - 1) / TILE, across = (p.n + TILE - 1) / TILE;
        int bytes = 0;
        C::with(p.dtype, [&](auto format) ACUI_INLINE { bytes = decltype(format)::BYTES; });
        for (long long unit = blockIdx.x; unit < down * across * p.batches; unit += gridDim.x) {
            long long offset[3], in_batch = unit % (down * across);
            acui_offsets<3>(p.batch, p.at, unit / (down * across), offset);
            tile(p, out + offset[0] * bytes, a + offset[1] * bytes, b + offset[2] * bytes,
                 in_batch / across * TILE, in_batch % across * TILE);
        }
    }
};

#define ACUI_MATMUL(name, class, tile, depth, each)                                                \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 2)                                    \
        name(char *out, const char *a, const char *b, acui_matmul p)                               \
    {                                                                                              \
        acui_product<class, tile, depth, each>::run(p, out, a, b);                                 \
    }
#endif
