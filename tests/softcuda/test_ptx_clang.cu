/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What compilers make that hand-written PTX does not show: for
 * test_ptx_clang.c to parse and run. */

__constant__ float weights[4] = {1.0f, 2.5f, -3.0f, 1e-20f};
__device__ int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int four = 4;
__device__ int *pointer = &four;
__device__ unsigned launches;

struct point {
    char tag;
    double weight;
    short step;
};

__device__ __attribute__((noinline)) int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __attribute__((noinline)) point moved(point p, int by)
{
    p.weight += by;
    p.step = (short)(p.step - by);
    return p;
}

__device__ __attribute__((noinline)) int plus(int a, int b)
{
    return a + b;
}

__device__ __attribute__((noinline)) int times(int a, int b)
{
    return a * b;
}

typedef int (*binary)(int, int);
__device__ binary functions[2] = {plus, times};

extern "C" __global__ void recursion(int *out, int n)
{
    out[threadIdx.x] = fibonacci((int)threadIdx.x % n);
}

extern "C" __global__ void structures(double *out, point p, int by)
{
    point q = moved(p, by + (int)threadIdx.x);
    out[threadIdx.x] = q.weight * 1000 + q.step + q.tag;
}

extern "C" __global__ void pointers(int *out)
{
    unsigned i = threadIdx.x;
    out[i] = functions[i & 1]((int)i, 7) + *pointer + matrix[i & 1][i % 3] + (int)weights[i & 1];
    if (i == 0)
        atomicAdd(&launches, 1u);
}

extern "C" __global__ void __launch_bounds__(256) sum(const float *in, float *out, int n)
{
    __shared__ float parts[8];
    float v = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        v += in[i];
    for (int d = 16; d; d >>= 1)
        v += __shfl_down_sync(~0u, v, (unsigned)d);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned i = 1; i < blockDim.x / 32; i++)
            v += parts[i];
        *out = v;
    }
}

extern __shared__ int dynamic[];

extern "C" __global__ void reversed(int *data)
{
    dynamic[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void choices(int *out, int k)
{
    int i = (int)threadIdx.x, r = 0;
    switch ((i + k) % 9) {
    case 0: r = out[i] * 3; break;
    case 1: r = out[i] ^ 5; break;
    case 2: r = out[i] | 64; break;
    case 3: r = 1000 / (out[i] + 1); break;
    case 4: r = out[i] % 5; break;
    case 5: r = out[i] << 3; break;
    case 6: r = out[i] - 9; break;
    case 7: r = -out[i]; break;
    default: r = k; break;
    }
    out[i] = r;
}

extern "C" __global__ void sorted(int *data, int n)
{
    int local[16];
    int *mine = data + threadIdx.x * (unsigned)n;
    for (int i = 0; i < n; i++)
        local[i] = mine[i];
    for (int i = 1; i < n; i++) {
        for (int j = i; j > 0 && local[j - 1] > local[j]; j--) {
            int t = local[j];
            local[j] = local[j - 1];
            local[j - 1] = t;
        }
    }
    for (int i = 0; i < n; i++)
        mine[i] = local[i];
}

/* What one thread writes before a barrier is read behind it: compilers have moved the read. */
extern "C" __global__ void last_block(unsigned *out)
{
    __shared__ bool last;
    if (threadIdx.x == 0)
        last = atomicAdd(out, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last)
        atomicAdd(out + 1 + threadIdx.x, 1u);
}
