/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Attention without tensor cores: the twin of attention_mma.cu, and the kernel for f32 and wide
 * heads. A block takes ROWS queries; eight threads that are neighbours share one. It goes through
 * the keys, ROWS at a time: scores, their softmax so far, and the weighted sum of values so far.
 */
#include "elements.cuh"

#include "../src/ops/attention/params.h"

enum {
    ROWS = ACUI_ATTENTION_ROWS, /* also the elements of a row that are in shared memory at once */
    LANES = ACUI_BLOCK / ROWS,
    EACH = ROWS / LANES,
    PARTS = ACUI_ATTENTION_WIDTH / ROWS
};

/* ROWS rows of a matrix from `first` on, elements from `from` on; zeros outside. Out of line, as is
 * put(), because they are used in many places. */
ACUI_DEVICE_OUTLINE void fetch(float (*to)[ROWS + 1], int dtype, const char *at, long long first, long long rows,
                               long long row, int from, int width, long long column)
{
    acui_real_f::with(dtype, [&](auto format) ACUI_INLINE {
        typedef decltype(format) F;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int r = (int)threadIdx.x / ROWS + e * LANES, c = (int)threadIdx.x % ROWS;
            float x = 0;
            if (first + r < rows && from + c < width)
                x = F::template read_one<float>(at + ((first + r) * row + (from + c) * column) * F::BYTES);
            to[r][c] = x;
        }
    });
}
ACUI_DEVICE_OUTLINE void put(char *at, int dtype, float x)
{
    acui_real_f::with(dtype, [&](auto format) ACUI_INLINE { decltype(format)::write_one(at, x); });
}

/* For each of the eight threads of a query. */
template <typename J> ACUI_DEVICE float joined(float x, J join)
{
#pragma unroll
    for (int step = 1; step < LANES; step *= 2)
        x = join(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

ACUI_DEVICE void queries(const acui_attention &p, int bytes, char *out, const char *q, const char *k, const char *v, long long first)
{
    __shared__ float left[ROWS][ROWS + 1], right[ROWS][ROWS + 1], weights[ROWS][ROWS + 1];
    const int row = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES;
    const long long sees = p.causal ? first + row + p.keys - p.queries + 1 : p.keys; /* the keys of this query */
    long long end = p.causal ? first + ROWS + p.keys - p.queries : p.keys;          /* of any in the block */
    float result[PARTS][EACH] = {}, most = -__builtin_huge_valf(), sum = 0;
    end = end < p.keys ? end : p.keys;
    for (long long key = 0; key < end; key += ROWS) {
        float score[EACH] = {};
        for (int from = 0; from < p.width; from += ROWS) {
            __syncthreads();
            fetch(left, p.dtype, q, first, p.queries, p.q[2], from, p.width, p.q[3]);
            fetch(right, p.dtype, k, key, p.keys, p.k[2], from, p.width, p.k[3]);
            __syncthreads();
            for (int c = 0; c < ROWS; c++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    score[j] = fma(left[row][c], right[lane + j * LANES][c], score[j]);
        }
        float now = most;
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const long long at = key + lane + j * LANES;
            score[j] = at < sees && at < p.keys ? score[j] * p.scale : -__builtin_huge_valf();
            now = fmaxf(now, score[j]);
        }
        now = joined(now, [](float a, float b) ACUI_INLINE { return fmaxf(a, b); });
        const float base = now == -__builtin_huge_valf() ? 0 : now, less = expf(most - base);
        float more = 0;
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const float weight = expf(score[j] - base);
            weights[row][lane + j * LANES] = weight;
            more += weight;
        }
        sum = fma(sum, less, joined(more, [](float a, float b) ACUI_INLINE { return a + b; }));
        most = now;
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            if (part * ROWS >= p.width)
                break;
            __syncthreads();
            fetch(right, p.dtype, v, key, p.keys, p.v[2], part * ROWS, p.width, p.v[3]);
            __syncthreads();
#pragma unroll
            for (int j = 0; j < EACH; j++)
                result[part][j] *= less;
            for (int c = 0; c < ROWS; c++) {
                const float weight = weights[row][c];
                if (key + c >= p.keys || key + c >= sees)
                    break; /* 0 times infinity would be NaN */
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    result[part][j] = fma(weight, right[c][lane + j * LANES], result[part][j]);
            }
        }
    }
    const float divide = sees > 0 && p.keys > 0 ? sum : 1;
#pragma unroll
    for (int part = 0; part < PARTS; part++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int c = part * ROWS + lane + j * LANES;
            if (first + row < p.queries && c < p.width)
                put(out + ((first + row) * p.out[2] + c * p.out[3]) * bytes, p.dtype, result[part][j] / divide);
        }
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    attention_f(char *out, const char *q, const char *k, const char *v, acui_attention p)
{
    const long long tiles = (p.queries + ROWS - 1) / ROWS, units = p.batches * p.heads * tiles;
    const int bytes = p.dtype == ACU_F32 ? 4 : 2;
    for (long long unit = blockIdx.x; unit < units; unit += gridDim.x) {
        /* with `causal`, the last queries have most to do, and begin */
        const long long tile = tiles - 1 - unit % tiles, head = unit / tiles % p.heads, b = unit / tiles / p.heads;
        queries(p, bytes, out + (b * p.out[0] + head * p.out[1]) * bytes, q + (b * p.q[0] + head * p.q[1]) * bytes,
                k + (b * p.k[0] + head / p.share * p.k[1]) * bytes, v + (b * p.v[0] + head / p.share * p.v[1]) * bytes,
                tile * ROWS);
    }
}
