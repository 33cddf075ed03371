/* SPDX-License-Identifier: MIT OR Apache-2.0 */
extern "C" {

__device__ int counter = 5;
__constant__ int table[4] = {1, 2, 3, 4};
__device__ unsigned arrived;

__global__ void add_to_counter(int n) { counter += n; }

__global__ void look_up(int *out) { out[threadIdx.x] = table[threadIdx.x]; }

/* All blocks wait for each other: ends only if they run at the same time. */
__global__ void meet(unsigned *out)
{
    if (threadIdx.x == 0) {
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < gridDim.x) {
        }
        out[blockIdx.x] = arrived;
    }
}

__global__ void __launch_bounds__(128) fill(int *out, int value)
{
    extern __shared__ int unused[];
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
}
