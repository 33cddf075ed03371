/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that run what kernels/prelude.cuh and math.cuh bring, for test_prelude.c to check. */
#include "math_functions.h"

static __device__ unsigned thread_index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* ---- math: one kernel for each function --------------------------------------------------- */

#define FLOAT_KERNEL(name, ...) \
    extern "C" __global__ void run_##name(float *out, const float *in, unsigned n) \
    { \
        unsigned i = thread_index(); \
        if (i < n) \
            out[i] = name(in[i]); \
    }
MATH_FLOAT_FUNCTIONS(FLOAT_KERNEL)

#define DOUBLE_KERNEL(name, ...) \
    extern "C" __global__ void run_double_##name(double *out, const double *in, unsigned n) \
    { \
        unsigned i = thread_index(); \
        if (i < n) \
            out[i] = name(in[i]); \
    }
MATH_DOUBLE_FUNCTIONS(DOUBLE_KERNEL)

extern "C" __global__ void run_powf(float *out, const float *x, const float *y, unsigned n)
{
    unsigned i = thread_index();
    if (i < n)
        out[i] = powf(x[i], y[i]);
}

extern "C" __global__ void run_pow(double *out, const double *x, const double *y, unsigned n)
{
    unsigned i = thread_index();
    if (i < n)
        out[i] = pow(x[i], y[i]);
}

/* out: 8 results for each pair */
extern "C" __global__ void run_pairs(float *out, const float *x, const float *y, unsigned n)
{
    unsigned i = thread_index();
    if (i >= n)
        return;
    float *o = out + 8 * i, sine, cosine;
    sincosf(x[i], &sine, &cosine);
    o[0] = fminf(x[i], y[i]);
    o[1] = fmaxf(x[i], y[i]);
    o[2] = copysignf(x[i], y[i]);
    o[3] = fmaf(x[i], y[i], 0.1f);
    o[4] = sine;
    o[5] = cosine;
    o[6] = (float)(isnan(x[i]) + 2 * isinf(x[i]) + 4 * isfinite(x[i]));
    o[7] = x[i] / y[i];
}

/* out: 8 results for each argument */
extern "C" __global__ void run_approximations(float *out, const float *in, unsigned n)
{
    unsigned i = thread_index();
    if (i >= n)
        return;
    float *o = out + 8 * i, x = in[i];
    o[0] = __expf(x);
    o[1] = __logf(x);
    o[2] = __sinf(x);
    o[3] = __cosf(x);
    o[4] = __fdividef(1.0f, x);
    o[5] = rsqrtf(x);
    o[6] = __powf(x, 1.5f);
    o[7] = __saturatef(x);
}

/* out: rn, rz, ru, rd of 1 + 2^-30, 1/3, sqrt(2), (1 + 2^-20)^2, then to int of -2.5 */
extern "C" __global__ void run_roundings(float *out, const float *in)
{
    float one = in[0], tiny = in[1], three = in[2], two = in[3], odd = in[4], half = in[5];
#define ROUNDINGS(first, mode) \
    out[first] = __fadd_##mode(one, tiny); \
    out[first + 1] = __fdiv_##mode(one, three); \
    out[first + 2] = __fsqrt_##mode(two); \
    out[first + 3] = __fmul_##mode(odd, odd); \
    out[first + 4] = (float)__float2int_##mode(half);
    ROUNDINGS(0, rn)
    ROUNDINGS(5, rz)
    ROUNDINGS(10, ru)
    ROUNDINGS(15, rd)
    /* Never parts of an fma, whatever becomes of plain ones: the squares are not exact. */
    float x = in[6], square = in[7];
    double y = 1.0 + 8.0 * (double)tiny, double_square = 1.0 + 16.0 * (double)tiny;
    out[20] = __fmul_rn(x, x) - square;
    out[21] = __fadd_rn(x * x, -square);
    out[22] = __fsub_rn(x * x, square);
    out[23] = (float)(__dmul_rn(y, y) - double_square);
    out[24] = (float)__dadd_rn(y * y, -double_square);
    out[25] = (float)__dsub_rn(y * y, double_square);
}

/* ---- integers ------------------------------------------------------------------------------ */

/* out: 16 results for each pair */
extern "C" __global__ void run_integers(unsigned *out, const unsigned *a, const unsigned *b,
                                        unsigned n)
{
    unsigned i = thread_index();
    if (i >= n)
        return;
    unsigned *o = out + 16 * i, x = a[i], y = b[i];
    unsigned long long wide = (unsigned long long)x << 32 | y;
    o[0] = (unsigned)__clz((int)x);
    o[1] = (unsigned)__clzll((long long)wide);
    o[2] = (unsigned)__popc(x);
    o[3] = (unsigned)__popcll(wide);
    o[4] = __brev(x);
    o[5] = (unsigned)__ffs((int)x);
    o[6] = (unsigned)__ffsll((long long)wide);
    o[7] = __byte_perm(x, y, 0x6420);
    o[8] = __funnelshift_l(x, y, 9);
    o[9] = __funnelshift_r(x, y, 9);
    o[10] = __umulhi(x, y);
    o[11] = (unsigned)__mulhi((int)x, (int)y);
    o[12] = (unsigned)__umul64hi(wide, wide);
    o[13] = __usad(x, y, 5);
    o[14] = min(x, y) ^ (unsigned)max((int)x, (int)y);
    o[15] = __dp4a(x, y, 7u);
}

/* ---- warps: one block of one warp; out: rows of 32 lanes ------------------------------------- */

extern "C" __global__ void run_warp(unsigned *out)
{
    const unsigned all = 0xffffffffu;
    unsigned lane = threadIdx.x;
    double real = lane + 0.25;
    int same;
    out[lane] = __shfl_sync(all, lane * 3, 5);
    out[32 + lane] = __shfl_up_sync(all, lane, 2);
    out[64 + lane] = __shfl_down_sync(all, lane, 3, 8);
    out[96 + lane] = __shfl_xor_sync(all, lane, 16);
    out[128 + lane] = (unsigned)(4.0 * __shfl_xor_sync(all, real, 1));
    out[160 + lane] = __ballot_sync(all, lane % 3 == 0);
    out[192 + lane] = (unsigned)(__any_sync(all, lane == 7) + 2 * __all_sync(all, lane < 31) +
                                 4 * __uni_sync(all, lane == 99));
    out[224 + lane] = __match_any_sync(all, lane / 8);
    out[256 + lane] = __match_all_sync(all, (unsigned long long)7, &same);
    out[288 + lane] = (unsigned)same;
    out[320 + lane] = 0;
    if (lane % 2) /* divergent: only the odd lanes are here */
        out[320 + lane] = __ballot_sync(0xaaaaaaaau, lane < 16);
    __syncwarp();
    out[352 + lane] = __match_all_sync(all, lane / 31, &same) + (unsigned)same;
}

/* ---- blocks -------------------------------------------------------------------------------- */

extern "C" __global__ void run_block(unsigned *out)
{
    extern __shared__ unsigned dynamic[];
    __shared__ unsigned fixed[256];
    unsigned t = threadIdx.x, n = blockDim.x;
    fixed[t] = t * t;
    dynamic[t] = t;
    __syncthreads();
    unsigned sum = fixed[n - 1 - t] + dynamic[(t + 1) % n];
    int count = __syncthreads_count(t % 4 == 0);
    int every = __syncthreads_and(t < 1000), some = __syncthreads_or(t == 77),
        none = __syncthreads_or(t == 1000);
    out[2 * t] = sum;
    out[2 * t + 1] = (unsigned)(count * 8 + every * 4 + (some ? 2 : 0) + none);
}

/* ---- atomics: each thread of the grid once; integers[16], wide[8], real[2], doubles[1] ------- */

extern "C" __global__ void run_atomics(unsigned *integers, unsigned long long *wide, float *real,
                                       double *doubles)
{
    __shared__ unsigned shared;
    unsigned i = thread_index();
    if (threadIdx.x == 0)
        shared = 0;
    __syncthreads();
    atomicAdd(&shared, 1u);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(&integers[0], shared);
    atomicAdd((int *)&integers[1], -1);
    atomicMin((int *)&integers[2], 5 - (int)i);
    atomicMax(&integers[3], i);
    atomicAnd(&integers[4], ~(1u << i % 32));
    atomicOr(&integers[5], 1u << i % 32);
    atomicXor(&integers[6], i);
    atomicInc(&integers[7], 9);
    atomicDec(&integers[8], 9);
    atomicSub(&integers[9], 2u);
    if (atomicExch(&integers[10], 1u) == 0)
        atomicAdd(&integers[11], 1u);     /* exactly one thread finds it 0 */
    unsigned seen = integers[12], before; /* add by compare and swap */
    do {
        before = seen;
        seen = atomicCAS(&integers[12], before, before + 3);
    } while (seen != before);
    atomicAdd(&wide[0], 1ull << 32);
    atomicMax(&wide[1], (unsigned long long)i << 33);
    atomicMin((long long *)&wide[2], -(long long)i);
    atomicXor(&wide[3], (unsigned long long)i << 32);
    atomicAdd(&real[0], 0.5f);
    atomicExch(&real[1], 2.5f);
    atomicAdd(&doubles[0], 0.25);
    __threadfence();
}

/* ---- types and variables --------------------------------------------------------------------- */

static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && alignof(float2) == 8, "float4");
static_assert(sizeof(float3) == 12 && alignof(float3) == 4, "float3");
static_assert(sizeof(double4) == 32 && alignof(double4) == 16, "double4");
static_assert(sizeof(uchar4) == 4 && alignof(uchar4) == 4 && sizeof(longlong2) == 16, "uchar4");
static_assert(sizeof(dim3) == 12 && sizeof(uint3) == 12, "dim3");

__constant__ float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ unsigned counter = 40;

extern "C" __global__ void run_types(float4 *out, const float4 *in, unsigned *places)
{
    unsigned i = thread_index();
    float4 v = __ldg(&in[i]);
    out[i] = make_float4(v.w * weights[0], v.z * weights[1], v.y * weights[2],
                         __ldg(&in[i].x) * weights[3]);
    dim3 grid = gridDim;
    uint3 block = blockIdx;
    if (i == 0) {
        places[0] = grid.x * 100 + grid.y * 10 + grid.z;
        places[1] = blockDim.x * 100 + blockDim.y * 10 + blockDim.z;
        places[2] = block.x + threadIdx.y + (unsigned)warpSize;
        places[3] = ++counter;
    }
}

template <typename T> static __device__ T templated(T a, T b)
{
    return a > b ? a : b;
}

extern "C" __global__ void __launch_bounds__(64) run_memory(char *to, const char *from, size_t n)
{
    assert(n > 0);
    if (thread_index() == 0) {
        memcpy(to, from, n);
        memset(to + n, templated(3, 7), n);
    }
}
