/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that tell what they were given. */
#include <acuda/device.cuh>

struct mixed {
    char letter;
    double number;
    int list[5];
};

/* out[0 .. 7]: the arguments, bit by bit */
extern "C" __global__ void kinds(unsigned long long *out, signed char a, unsigned short b, int c,
                                 unsigned long long d, float e, double f, bool g)
{
    out[0] = (unsigned long long)(long long)a;
    out[1] = b;
    out[2] = (unsigned long long)(long long)c;
    out[3] = d;
    out[4] = (unsigned long long)(long long)(e * 4.0f);
    out[5] = (unsigned long long)(long long)(f * 4.0);
    out[6] = g;
}

extern "C" __global__ void by_value(double *out, mixed m, int last)
{
    out[0] = m.letter;
    out[1] = m.number;
    for (int i = 0; i < 5; i++)
        out[2 + i] = m.list[i];
    out[7] = last;
}

extern "C" __global__ void where(unsigned *out)
{
    if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z)
        return;
    out[0] = gridDim.x;
    out[1] = gridDim.y;
    out[2] = gridDim.z;
    out[3] = blockDim.x;
    out[4] = blockDim.y;
    out[5] = blockDim.z;
}

/* Each element of the tile becomes the number of its block, by strides and clipped edges. */
template <int Rank> __device__ void number_tiles(acu_tile<int, Rank> y)
{
    int block = (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    int *data = (int *)y.param.data;
    const acu_tile_param &p = y.param;
    long long origin[3] = {0, 0, 0}, end[3] = {1, 1, 1};
    unsigned index[3] = {blockIdx.x, blockIdx.y, blockIdx.z};
    for (int d = 0; d < Rank; d++) {
        origin[d] = index[Rank - 1 - d] * p.tile[d];
        end[d] = origin[d] + p.tile[d] < p.shape[d] ? origin[d] + p.tile[d] : p.shape[d];
    }
    for (long long i = origin[0] + threadIdx.x; i < end[0]; i += blockDim.x)
        for (long long j = origin[1]; j < end[1]; j++)
            for (long long k = origin[2]; k < end[2]; k++)
                data[i * p.stride[0] + j * p.stride[1] + k * p.stride[2]] += block + 1;
}

extern "C" __global__ void tiles1(acu_tile<int, 1> y)
{
    number_tiles<1>(y);
}

extern "C" __global__ void tiles2(acu_tile<int, 2> y)
{
    number_tiles<2>(y);
}

extern "C" __global__ void tiles3(acu_tile<int, 3> y)
{
    number_tiles<3>(y);
}

extern __shared__ int scratch[];

/* The sum of 0 .. n-1 by way of the last element of n in shared memory. */
extern "C" __global__ void shared_sum(int *out, int n)
{
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        scratch[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = n - 1; i >= 0; i -= 97)
            sum += scratch[i];
        *out = sum;
    }
}
