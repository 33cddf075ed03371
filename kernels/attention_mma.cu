/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Attention of f16 and bf16 by tensor cores (compute capability 8.0 and newer). A block of four
 * warps takes 64 queries, a warp 16 of them: it holds them, and its part of the result, in
 * registers. The block goes through the keys, 64 at a time, in shared memory: while it multiplies
 * with the keys, the values of these are on their way, and the next keys after that.
 */
#include "mma.cuh"

#include "../src/ops/attention/params.h"

enum { BLOCK = ACUI_ATTENTION_MMA_BLOCK, ROWS = ACUI_ATTENTION_MMA_ROWS, TILES = ROWS / 8 };

template <typename H, int WIDTH> struct attention {
    static const int STEP = WIDTH + 8; /* between rows in shared memory: no conflicts of banks */

    /* ROWS rows from `first` on; zeros outside. Complete after arrived(). */
    ACUI_DEVICE void send(const acui_attention &p, bool even, unsigned short *to, const char *at, long long first,
                          const long long *stride)
    {
        if (even) {
            for (int i = (int)threadIdx.x; i < ROWS * (WIDTH / 8); i += BLOCK) {
                const int r = i / (WIDTH / 8), c = i % (WIDTH / 8) * 8;
                const bool there = first + r < p.keys;
                const char *from = at + ((there ? first + r : 0) * stride[2] + c) * 2;
                __asm__ __volatile__("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                                     :: "r"(shared_address(to + r * STEP + c)), "l"(from), "r"(there ? 16 : 0) : "memory");
            }
        } else {
            for (int i = (int)threadIdx.x; i < ROWS * WIDTH; i += BLOCK) {
                const int r = i / WIDTH, c = i % WIDTH;
                unsigned short x = 0;
                if (first + r < p.keys && c < p.width)
                    x = *(const unsigned short *)(at + ((first + r) * stride[2] + c * stride[3]) * 2);
                to[r * STEP + c] = x;
            }
        }
        __asm__ __volatile__("cp.async.commit_group;" ::: "memory");
    }
    /* All that was sent is there, for all threads. */
    ACUI_DEVICE void arrived()
    {
        __asm__ __volatile__("cp.async.wait_all;" ::: "memory");
        __syncthreads();
    }

    ACUI_DEVICE void hold_queries(const acui_attention &p, const char *q, long long row, unsigned (&held)[WIDTH / 16][4])
    {
        const int t = (int)threadIdx.x % 4;
#pragma unroll
        for (int k = 0; k < WIDTH / 16; k++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const long long r = row + (i % 2) * 8;
                const int c = k * 16 + t * 2 + i / 2 * 8;
                unsigned low = 0, high = 0;
                const char *at = q + (r * p.q[2] + c * p.q[3]) * 2;
                if (r < p.queries && c < p.width)
                    low = *(const unsigned short *)at;
                if (r < p.queries && c + 1 < p.width)
                    high = *(const unsigned short *)(at + p.q[3] * 2);
                held[k][i] = low | high << 16;
            }
    }

    /* Scores of 16 queries and ROWS keys. */
    ACUI_DEVICE void score(const unsigned (&q)[WIDTH / 16][4], const unsigned short *keys, float (&s)[TILES][4])
    {
        const int lane = (int)threadIdx.x % 32;
        const unsigned at = shared_address(keys + lane % 8 * STEP + lane / 8 * 8);
#pragma unroll
        for (int n = 0; n < TILES; n++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[n][i] = 0;
#pragma unroll
            for (int k = 0; k < WIDTH / 32; k++) {
                unsigned b[4];
                load_four<false>(b, at + (unsigned)(n * 8 * STEP + k * 32) * 2);
                H::multiply(s[n], q[2 * k], b[0], b[1]);
                H::multiply(s[n], q[2 * k + 1], b[2], b[3]);
            }
        }
    }

    /* Weights instead of scores, and what the result so far is multiplied with. */
    ACUI_DEVICE void soften(float scale, float (&s)[TILES][4], float (&most)[2], float (&sum)[2], float (&less)[2])
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float now = most[h];
#pragma unroll
            for (int n = 0; n < TILES; n++)
                now = fmaxf(now, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
            now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 1));
            now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 2));
            const float base = now == -__builtin_huge_valf() ? 0 : now * scale;
            less[h] = __nvvm_ex2_approx_f(fma(most[h], scale, -base));
            most[h] = now;
            float more = 0;
#pragma unroll
            for (int n = 0; n < TILES; n++)
#pragma unroll
                for (int i = 2 * h; i < 2 * h + 2; i++) {
                    s[n][i] = __nvvm_ex2_approx_f(fma(s[n][i], scale, -base));
                    more += s[n][i];
                }
            sum[h] = fma(sum[h], less[h], more); /* of this thread's columns */
        }
    }

    ACUI_DEVICE void add_values(const unsigned short *values, const float (&s)[TILES][4], float (&o)[WIDTH / 8][4])
    {
        const int lane = (int)threadIdx.x % 32;
        const unsigned at = shared_address(values + lane % 16 * STEP + lane / 16 * 8);
#pragma unroll
        for (int k = 0; k < ROWS / 16; k++) {
            const unsigned a[4] = {H::pack(s[2 * k][0], s[2 * k][1]), H::pack(s[2 * k][2], s[2 * k][3]),
                                   H::pack(s[2 * k + 1][0], s[2 * k + 1][1]), H::pack(s[2 * k + 1][2], s[2 * k + 1][3])};
#pragma unroll
            for (int n = 0; n < WIDTH / 8; n += 2) {
                unsigned b[4];
                load_four<true>(b, at + (unsigned)(k * 16 * STEP + n * 8) * 2);
                H::multiply(o[n], a, b[0], b[1]);
                H::multiply(o[n + 1], a, b[2], b[3]);
            }
        }
    }

    ACUI_DEVICE void store(const acui_attention &p, bool even, char *out, long long row, float (&o)[WIDTH / 8][4], float (&sum)[2])
    {
        const int t = (int)threadIdx.x % 4;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float all = sum[h];
            all += __shfl_xor_sync(0xffffffffu, all, 1);
            all += __shfl_xor_sync(0xffffffffu, all, 2);
            const long long r = row + h * 8;
            const bool sees = p.keys > 0 && (!p.causal || r + p.keys - p.queries >= 0);
            const float by = sees ? __frcp_rn(all) : 0;
            if (r >= p.queries)
                continue;
#pragma unroll
            for (int n = 0; n < WIDTH / 8; n++) {
                const int c = n * 8 + t * 2;
                char *at = out + (r * p.out[2] + c * p.out[3]) * 2;
                const float x = sees ? o[n][2 * h] * by : 0, y = sees ? o[n][2 * h + 1] * by : 0;
                if (even) {
                    *(unsigned *)at = H::pack(x, y);
                    continue;
                }
                if (c < p.width)
                    *(unsigned short *)at = H::one(x);
                if (c + 1 < p.width)
                    *(unsigned short *)(at + p.out[3] * 2) = H::one(y);
            }
        }
    }

    /* 64 queries from `first` on. */
    ACUI_DEVICE void queries(const acui_attention &p, bool even, char *out, const char *q, const char *k, const char *v,
                             long long first)
    {
        __shared__ __align__(16) unsigned short keys[ROWS * STEP], values[ROWS * STEP];
        const int lane = (int)threadIdx.x % 32;
        const long long row = first + threadIdx.x / 32 * 16 + lane / 4, shift = p.keys - p.queries;
        unsigned held[WIDTH / 16][4];
        float o[WIDTH / 8][4], most[2] = {-__builtin_huge_valf(), -__builtin_huge_valf()}, sum[2] = {0, 0};
        long long end = p.causal && first + ROWS + shift < p.keys ? first + ROWS + shift : p.keys;
#pragma unroll
        for (int n = 0; n < WIDTH / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                o[n][i] = 0;
        hold_queries(p, q, row, held);
        __syncthreads(); /* the queries before these are done */
        if (end > 0)
            send(p, even, keys, k, 0, p.k);
        for (long long key = 0; key < end; key += ROWS) {
            float s[TILES][4], less[2];
            arrived();
            send(p, even, values, v, key, p.v);
            score(held, keys, s);
            if (key + ROWS > p.keys || (p.causal && key + ROWS - 1 > first + shift)) {
#pragma unroll
                for (int n = 0; n < TILES; n++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const long long at = key + n * 8 + lane % 4 * 2 + i % 2;
                        if (at >= p.keys || (p.causal && at > row + i / 2 * 8 + shift))
                            s[n][i] = -__builtin_huge_valf();
                    }
            }
            soften(p.scale * 1.44269504f, s, most, sum, less);
#pragma unroll
            for (int n = 0; n < WIDTH / 8; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    o[n][i] *= less[i / 2];
            arrived();
            if (key + ROWS < end)
                send(p, even, keys, k, key + ROWS, p.k);
            add_values(values, s, o);
        }
        store(p, even, out, row, o, sum);
    }

    ACUI_DEVICE void run(const acui_attention &p, char *out, const char *q, const char *k, const char *v)
    {
        const long long tiles = (p.queries + ROWS - 1) / ROWS, units = p.batches * p.heads * tiles;
        const bool even = p.even && p.width == WIDTH &&
                          ((unsigned long long)k | (unsigned long long)v) % 16 == 0 && (unsigned long long)out % 4 == 0;
        for (long long unit = blockIdx.x; unit < units; unit += gridDim.x) {
            const long long head = unit / tiles % p.heads, b = unit / tiles / p.heads;
            queries(p, even, out + (b * p.out[0] + head * p.out[1]) * 2, q + (b * p.q[0] + head * p.q[1]) * 2,
                    k + (b * p.k[0] + head / p.share * p.k[1]) * 2, v + (b * p.v[0] + head / p.share * p.v[1]) * 2,
                    (tiles - 1 - unit % tiles) * ROWS); /* with `causal`, the last have most to do */
        }
    }
};

#define ACUI_ATTENTION(name, half, width)                                                          \
    extern "C" __global__ void __launch_bounds__(BLOCK, 2)                                         \
        name(char *out, const char *q, const char *k, const char *v, acui_attention p)             \
    {                                                                                              \
        attention<half, width>::run(p, out, q, k, v);                                              \
    }
ACUI_ATTENTION(attention_f16_64, as_f16, 64)
ACUI_ATTENTION(attention_f16_128, as_f16, 128)
ACUI_ATTENTION(attention_bf16_64, as_bf16, 64)
ACUI_ATTENTION(attention_bf16_128, as_bf16, 128)
