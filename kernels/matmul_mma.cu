/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of f16 and bf16 matrices by tensor cores (compute capability 8.0 and newer), added in
 * float. A block of eight warps computes a tile of 128 by 128, a warp 64 by 32 of it, from strips of
 * 32 along k: of three strips in shared memory one is used while the next ones are on their way.
 *
 * A strip lies in shared memory as its operand does: along k (128 rows of 32), or across (32 rows of
 * 128). Chunks of 16 bytes are exchanged within a row, so that eight that one instruction reads are
 * in eight places of the banks. mma.cuh says which thread holds what of a matrix.
 */
#include "mma.cuh"

enum { TILE = 128, DEPTH = 32, STAGES = 3, STRIP = TILE * DEPTH };

/* An operand: `across` is the row of the left one, the column of the right one. */
struct operand {
    const char *at;
    long long across, k;           /* strides */
    long long across_left, k_left; /* elements that there are, from `at` on */
    bool along_k;                  /* which of the strides is 1 */
    bool even;                     /* chunks are aligned */
};

/* Where chunk number c of row r is. */
ACUI_DEVICE int chunk_at(bool along_k, int r, int c)
{
    return along_k ? r * DEPTH + (c ^ (r >> 1 & 3)) * 8 : r * TILE + (c ^ (r & 7)) * 8;
}

/* The strip at k, on its way; zeros outside. Two chunks for each thread. */
ACUI_DEVICE void send(const operand &o, unsigned short *to, long long k)
{
#pragma unroll
    for (int e = 0; e < STRIP / 8 / ACUI_BLOCK; e++) {
        const int i = (int)threadIdx.x + e * ACUI_BLOCK;
        const int r = o.along_k ? i / (DEPTH / 8) : i / (TILE / 8), c = o.along_k ? i % (DEPTH / 8) : i % (TILE / 8);
        const long long across = o.along_k ? r : c * 8, deep = k + (o.along_k ? c * 8 : r);
        long long left = o.along_k ? o.k_left - deep : o.across_left - across;
        if (o.along_k ? across >= o.across_left : deep >= o.k_left)
            left = 0;
        left = left < 0 ? 0 : left > 8 ? 8 : left;
        const char *from = o.at + (left ? across * o.across + deep * o.k : 0) * 2;
        unsigned short *at = to + chunk_at(o.along_k, r, c);
        if (o.even) {
            __asm__ __volatile__("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                                 :: "r"(shared_address(at)), "l"(from), "r"((int)left * 2) : "memory");
        } else {
            for (int j = 0; j < 8; j++)
                at[j] = j < left ? ((const unsigned short *)from)[j] : (unsigned short)0;
        }
    }
}

/* 16 across by 16 along k, as the left operand of mma wants them: second is which half is across,
 * third along k; for the right one the other way round. */
ACUI_DEVICE void load(unsigned (&r)[4], bool left, bool along_k, const unsigned short *strip, int across, int k)
{
    const int lane = (int)threadIdx.x % 32, row = lane % 8, second = lane / 8 % 2, third = lane / 16;
    const int over = across + row, half_across = left ? second : third, half_k = left ? third : second;
    if (along_k)
        load_four<false>(r, shared_address(strip + chunk_at(true, over + half_across * 8, k / 8 + half_k)));
    else
        load_four<true>(r, shared_address(strip + chunk_at(false, k + row + half_k * 8, across / 8 + half_across)));
}

template <typename H> struct product {
    ACUI_DEVICE void store(const acui_matmul &p, char *out, long long rows, long long columns, const float (&sum)[4][4][4])
    {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        const bool even = p.out_column == 1 && p.out_row % 2 == 0 && (unsigned long long)out % 4 == 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int row = warp / 4 * 64 + i * 16 + h * 8 + lane / 4;
                if (row >= rows)
                    continue;
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    const int column = warp % 4 * 32 + j * 8 + lane % 4 * 2;
                    char *at = out + (row * p.out_row + column * p.out_column) * 2;
                    const float x = sum[i][j][2 * h], y = sum[i][j][2 * h + 1];
                    if (even && column + 1 < columns) {
                        *(unsigned *)at = H::pack(x, y);
                        continue;
                    }
                    if (column < columns)
                        *(unsigned short *)at = H::one(x);
                    if (column + 1 < columns)
                        *(unsigned short *)(at + p.out_column * 2) = H::one(y);
                }
            }
    }

    ACUI_DEVICE void multiply(const operand &a, const operand &b, const unsigned short *left, const unsigned short *right,
                              float (&sum)[4][4][4])
    {
        const int warp = (int)threadIdx.x / 32;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            unsigned u[4][4], v[2][4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                load(u[i], true, a.along_k, left, warp / 4 * 64 + i * 16, k);
#pragma unroll
            for (int j = 0; j < 2; j++)
                load(v[j], false, b.along_k, right, warp % 4 * 32 + j * 16, k);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    H::multiply(sum[i][j], u[i], v[j / 2][j % 2 * 2], v[j / 2][j % 2 * 2 + 1]);
        }
    }

    ACUI_DEVICE void tile(const acui_matmul &p, char *out, const char *a, const char *b, long long row, long long column)
    {
        __shared__ __align__(16) unsigned short left[STAGES][STRIP], right[STAGES][STRIP];
        operand x = {a + row * p.a_row * 2, p.a_row, p.a_column, p.m - row, p.k, p.a_column == 1, false};
        operand y = {b + column * p.b_column * 2, p.b_column, p.b_row, p.n - column, p.k, p.b_row == 1, false};
        x.even = (unsigned long long)x.at % 16 == 0 && (x.along_k ? x.across : x.k) % 8 == 0;
        y.even = (unsigned long long)y.at % 16 == 0 && (y.along_k ? y.across : y.k) % 8 == 0;
        float sum[4][4][4] = {};
        __syncthreads(); /* the tile before is done */
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            send(x, left[s], s * DEPTH);
            send(y, right[s], s * DEPTH);
            __asm__ __volatile__("cp.async.commit_group;" ::: "memory");
        }
        int now = 0, next = STAGES - 1;
        for (long long k = 0; k < p.k; k += DEPTH) {
            __asm__ __volatile__("cp.async.wait_group 1;" ::: "memory"); /* STAGES - 2 */
            __syncthreads();
            if (k + (STAGES - 1) * DEPTH < p.k) {
                send(x, left[next], k + (STAGES - 1) * DEPTH);
                send(y, right[next], k + (STAGES - 1) * DEPTH);
            }
            __asm__ __volatile__("cp.async.commit_group;" ::: "memory");
            multiply(x, y, left[now], right[now], sum);
            now = now + 1 == STAGES ? 0 : now + 1;
            next = next + 1 == STAGES ? 0 : next + 1;
        }
        __asm__ __volatile__("cp.async.wait_all;" ::: "memory");
        store(p, out + (row * p.out_row + column * p.out_column) * 2, p.m - row, p.n - column, sum);
    }

    /* Tiles that run at the same time share strips: eight rows of tiles at a time, column by column. */
    ACUI_DEVICE void run(const acui_matmul &p, char *out, const char *a, const char *b)
    {
        const long long down = (p.m + TILE - 1) / TILE, across = (p.n + TILE - 1) / TILE;
        for (long long unit = blockIdx.x; unit < down * across * p.batches; unit += gridDim.x) {
            long long offset[3];
            const long long in_batch = unit % (down * across), band = in_batch / (8 * across) * 8;
            const long long high = down - band < 8 ? down - band : 8, in_band = in_batch - band * across;
            acui_offsets<3>(p.batch, p.at, unit / (down * across), offset);
            tile(p, out + offset[0] * 2, a + offset[1] * 2, b + offset[2] * 2, (band + in_band % high) * TILE,
                 in_band / high * TILE);
        }
    }
};

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 2)
    matmul_f16(char *out, const char *a, const char *b, acui_matmul p)
{
    product<as_f16>::run(p, out, a, b);
}
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 2)
    matmul_bf16(char *out, const char *a, const char *b, acui_matmul p)
{
    product<as_bf16>::run(p, out, a, b);
}
