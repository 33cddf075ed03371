// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels for test_exec.c, as clang compiles them: joins ahead of their predecessors, shared
// addresses in 64-bit registers, local depots, calls.

extern "C" {

__global__ void saxpy(unsigned n, float a, const float *x, float *y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

__global__ void matmul(const float *a, const float *b, float *c, unsigned n)
{
    __shared__ float s[16][16], t[16][16];
    unsigned row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < n; k += 16) {
        s[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (unsigned j = 0; j < 16; j++)
            sum += s[threadIdx.y][j] * t[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void reduce(const unsigned *x, unsigned *out, unsigned n)
{
    __shared__ unsigned part[32];
    unsigned sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int o = 16; o; o >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int o = 16; o; o >>= 1)
            sum += __shfl_xor_sync(0xffffffffu, sum, o);
        if (threadIdx.x == 0)
            atomicAdd(out, sum);
    }
}

// Nested branches and loops with their own trip count for each lane.
__global__ void diverge(unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = i, steps = 0;
    while (v != 1 && steps < 200) {
        if (v % 2 == 0) {
            v /= 2;
        } else {
            for (unsigned k = 0; k < v % 5; k++) {
                if (k == 3)
                    break;
                steps += k;
            }
            v = 3 * v + 1;
        }
        if (v == 0)
            return;
        steps++;
    }
    out[i] = steps;
}

__device__ __noinline__ unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Lanes call to different depths.
__global__ void recurse(unsigned *out)
{
    out[threadIdx.x] = fibonacci(threadIdx.x % 12);
}

__device__ __noinline__ unsigned twice(unsigned v) { return 2 * v; }
__device__ __noinline__ unsigned square(unsigned v) { return v * v; }
__device__ __noinline__ unsigned next(unsigned v) { return v + 1; }
__device__ unsigned (*const table[3])(unsigned) = {twice, square, next};

__global__ void indirect(unsigned *out)
{
    out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x);
}

// An array that lives in local memory: sort the digits of the index.
__global__ void local_array(unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = i, digits[10] = {0}, result = 0;
    do
        digits[v % 10]++;
    while (v /= 10);
    for (unsigned d = 0; d < 10; d++)
        while (digits[d]--)
            result = result * 10 + d;
    out[i] = result;
}

__global__ void coordinates(uint4 *out)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] =
        make_uint4(blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16,
                   threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16, block, thread);
}

__global__ void say(const char *who, unsigned n)
{
    printf("%s %u: %5.2f %c %lld%%\n", who, n + threadIdx.x, 1.5 * threadIdx.x, 'a' + threadIdx.x,
           -5000000000ll);
}

__constant__ unsigned weights[4] = {1, 10, 100, 1000};
__device__ unsigned total = 7;
extern __shared__ unsigned dynamic[];

__global__ void symbols(unsigned *out)
{
    dynamic[threadIdx.x] = weights[threadIdx.x % 4];
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned sum = total;
        for (unsigned i = 0; i < blockDim.x; i++)
            sum += dynamic[i];
        *out = total = sum;
    }
}

struct pair {
    unsigned first;
    unsigned long long second;
};

// A struct by value, its members picked by an index that is not constant.
struct list {
    unsigned v[8];
    struct pair p;
};

__global__ void by_value(struct list l, unsigned long long *out)
{
    out[threadIdx.x] = l.v[threadIdx.x % 8] + l.p.second * l.p.first;
}

__global__ void heap(unsigned *out)
{
    unsigned *volatile own = (unsigned *)malloc(64); // volatile: or clang has no need of it
    for (unsigned i = 0; i < 16; i++)
        own[i] = threadIdx.x + i;
    unsigned sum = 0;
    for (unsigned i = 0; i < 16; i++)
        sum += own[i];
    free(own);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Every kind of atomic that returns the old value.
__global__ void atomics(unsigned *u, int *s, float *f, unsigned long long *l)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&u[0], 1u);
    atomicMax(&u[1], i);
    atomicMin(&s[0], -(int)i);
    atomicOr(&u[2], 1u << i % 32);
    atomicXor(&u[3], i);
    atomicAdd(f, 0.5f);
    atomicAdd(l, 1ull << 32);
    unsigned seen = u[4], now;
    do {
        now = seen;
        seen = atomicCAS(&u[4], now, now + 2);
    } while (seen != now);
}
}
