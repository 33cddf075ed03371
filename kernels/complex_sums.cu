/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sums of c64 and c128, and what goes likewise: reductions, running sums and products, products of
 * matrices. All of it is added up in double.
 */
#include "complex.cuh"
#include "matmul.cuh"

#include "../src/ops/scan/params.h"

typedef acui_complex C;

#define ACUI_Z extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)

/* ---- reductions ---------------------------------------------------------------------------------- */

/* An element as it is joined with others: of any and all, a truth value; of a norm, a square. */
ACUI_DEVICE C element_of(int op, C z)
{
    if (op == ACU_REDUCE_ANY || op == ACU_REDUCE_ALL)
        return {acui_is_zero(z) ? 0.0 : 1.0, 0.0};
    return op == ACU_REDUCE_NORM ? C{z.x * z.x + z.y * z.y, 0.0} : z;
}
ACUI_DEVICE C join(int op, C a, C b)
{
    switch (op) {
    case ACU_REDUCE_ALL:
    case ACU_REDUCE_PROD: return a * b;
    case ACU_REDUCE_ANY: return {a.x + b.x != 0 ? 1.0 : 0.0, 0.0};
    default: return a + b;
    }
}
ACUI_DEVICE C neutral(int op)
{
    return {op == ACU_REDUCE_ALL || op == ACU_REDUCE_PROD ? 1.0 : 0.0, 0.0};
}

/* Joins the values of a group of threads; its first thread writes the result, or a partial one. */
ACUI_DEVICE void finish(const acui_reduction &p, char *out, C *partial, long long row, long long split, bool there,
                        C value)
{
    __shared__ C held[ACUI_BLOCK];
    const int lane = (int)threadIdx.x & (p.group - 1);
    held[threadIdx.x] = value;
    for (int step = p.group / 2; step > 0; step /= 2) {
        __syncthreads();
        if (lane < step)
            held[threadIdx.x] = value = join(p.op, value, held[threadIdx.x + step]);
    }
    __syncthreads();
    if (lane != 0 || !there)
        return;
    if (partial) {
        partial[row * p.splits + split] = value;
        return;
    }
    if (p.op == ACU_REDUCE_MEAN)
        value = {value.x / (double)p.reduced_count, value.y / (double)p.reduced_count};
    if (p.op == ACU_REDUCE_NORM)
        value.x = sqrt(value.x);
    long long at;
    acui_offsets<1>(p.kept, &p.out, row, &at);
    acui_z::with(p.out_dtype, [&](auto format) ACUI_INLINE {
        typedef decltype(format) F;
        F::write_one(out + at * F::BYTES, value);
    });
}

/* Elements begin + lane, begin + lane + group, ... of a row; four reads are under way at once. */
ACUI_DEVICE C some(const acui_reduction &p, const char *x, long long begin, long long end, int lane)
{
    C value = neutral(p.op);
    for (long long i = begin + lane; i < end; i += 4 * p.group) {
        C e[4];
        acui_z::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const long long n = i + k * p.group < end ? i + k * p.group : i;
                long long at = n * p.along.stride[0];
                if (p.reduced.rank > 1)
                    acui_offsets<1>(p.reduced, &p.along, n, &at);
                e[k] = F::template read_one<C>(x + at * F::BYTES);
            }
        });
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * p.group < end)
                value = join(p.op, value, element_of(p.op, e[k]));
    }
    return value;
}

/* A group of threads for each kept element and split; neighbours have neighbouring rows. */
ACUI_Z rows_z(char *out, const char *x, C *partial, acui_reduction p)
{
    const int lane = (int)threadIdx.x & (p.group - 1), in_block = ACUI_BLOCK / p.group;
    const long long units = p.kept_count * p.splits;
    for (long long base = (long long)blockIdx.x * in_block; base < units; base += (long long)gridDim.x * in_block) {
        const long long unit = base + (int)threadIdx.x / p.group, split = unit / p.kept_count;
        const long long row = unit - split * p.kept_count, begin = split * p.chunk;
        const long long end = min(begin + p.chunk, p.reduced_count);
        C value = neutral(p.op);
        if (unit < units) {
            long long at;
            acui_offsets<1>(p.kept, &p.x, row, &at);
            value = some(p, x + at * (p.dtype == ACU_C64 ? 8 : 16), begin, end, lane);
        }
        finish(p, out, p.partial ? partial : 0, row, split, unit < units, value);
        __syncthreads();
    }
}

/* Joins the partial results. */
ACUI_Z end_z(char *out, const C *partial, acui_reduction p)
{
    const int lane = (int)threadIdx.x & (p.group - 1), in_block = ACUI_BLOCK / p.group;
    for (long long base = (long long)blockIdx.x * in_block; base < p.kept_count; base += (long long)gridDim.x * in_block) {
        const long long row = base + (int)threadIdx.x / p.group;
        C value = neutral(p.op);
        for (int i = lane; row < p.kept_count && i < p.splits; i += p.group)
            value = join(p.op, value, partial[row * p.splits + i]);
        finish(p, out, 0, row, 0, row < p.kept_count, value);
        __syncthreads();
    }
}

/* ---- running products ---------------------------------------------------------------------------- */

/* A thread goes along a chunk of a row; without `out`, only the chunk's total is wanted. */
ACUI_Z scan_columns_z(char *out, const char *x, C *totals, acui_scan p)
{
    for (long long u = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; u < p.rows.rows * p.chunks;
         u += (long long)gridDim.x * ACUI_BLOCK) {
        const long long chunk = u / p.rows.rows, row = u - chunk * p.rows.rows;
        const long long end = min((chunk + 1) * p.chunk, p.rows.count);
        long long at[2];
        C run = {1.0, 0.0};
        acui_offsets<2>(p.rows.kept, p.rows.at, row, at);
        for (long long c = 0; out && c < chunk; c++)
            run = run * totals[c * p.rows.rows + row];
        acui_z::with(p.dtype, [&](auto format) ACUI_INLINE {
            typedef decltype(format) F;
            for (long long i = chunk * p.chunk; i < end; i++) {
                run = run * F::template read_one<C>(x + (at[1] + i * p.rows.stride[1]) * F::BYTES);
                if (out)
                    F::write_one(out + (at[0] + i * p.rows.stride[0]) * F::BYTES, run);
            }
        });
        if (!out)
            totals[u] = run;
    }
}

/* ---- products of matrices ------------------------------------------------------------------------ */

ACUI_MATMUL(matmul_z, acui_z, 64, 8, 4)
ACUI_MATMUL(matmul_small_z, acui_z, 32, 16, 2)
