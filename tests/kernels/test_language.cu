/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kernels/more.cuh brings to kernels, for test_language.c to check. */
#include "simd.h"

/* ---- numbers in a word ----------------------------------------------------------------------- */

#define WORD_2(name, ...) \
    *o++ = __v##name##2(a, b); \
    *o++ = __v##name##4(a, b);
#define WORD_1(name, ...) \
    *o++ = __v##name##2(a); \
    *o++ = __v##name##4(a);
extern "C" __global__ void words(unsigned *out, const unsigned *x, int n, int results)
{
    for (int i = (int)threadIdx.x; i < n - 1; i += (int)blockDim.x) {
        unsigned a = x[i], b = x[i + 1], *o = out + results * i;
        SIMD_2(WORD_2)
        SIMD_1(WORD_1)
        *o++ = __vsads2(a, b);
        *o++ = __vsads4(a, b);
        *o++ = __vsadu2(a, b);
        *o++ = __vsadu4(a, b);
    }
}

/* ---- integers: 20 results for each pair ------------------------------------------------------ */

extern "C" __global__ void integers(unsigned *out, const unsigned *x, int n)
{
    for (int i = (int)threadIdx.x; i < n - 1; i += (int)blockDim.x) {
        unsigned a = x[i], b = x[i + 1], *o = out + 20 * i;
        double d = __hiloint2double((int)a, (int)b);
        o[0] = (unsigned)__hadd((int)a, (int)b);
        o[1] = (unsigned)__rhadd((int)a, (int)b);
        o[2] = __uhadd(a, b);
        o[3] = __urhadd(a, b);
        o[4] = __funnelshift_lc(a, b, i % 40);
        o[5] = __funnelshift_rc(a, b, i % 40);
        o[6] = __fns(a, b % 32, (int)(b >> 5 & 15) - 7);
        o[7] = (unsigned)__double2hiint(d);
        o[8] = (unsigned)__double2loint(d);
        o[9] = min(-1, a);
        o[10] = max((int)a, 5u);
        o[11] = (unsigned)__dp2a_lo((int)a, (int)b, 3);
        o[12] = __dp2a_hi(a, b, 3u);
        o[13] =
            (unsigned)__dp4a(char4{1, -1, 2, -2}, char4{(signed char)a, (signed char)b, 3, 4}, 0);
        o[14] = (unsigned)(max(1.5f, 2.5) * 2 + min(0.5, 3.0f) * 2);
        o[15] = umax(a, b);
        o[16] = (unsigned)llmin((long long)(int)a, 7);
        o[17] = (unsigned)ullmax(a, 7);
        o[18] = __isGlobal(x) | __isShared(x) << 1 | __isLocal(&d) << 2 | __isConstant(x) << 3;
        o[19] = *(const unsigned *)__cvta_global_to_generic(__cvta_generic_to_global(x + i));
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

template <typename T> static __device__ void copy_all(T *to, const T *from)
{
    __stwb(to, __ldcg(from));
    __stcg(to + 1, __ldca(from + 1));
    __stcs(to + 2, __ldcs(from + 2));
    __stwt(to + 3, __ldlu(from + 3));
    to[4] = __ldcv(from + 4);
}
extern "C" __global__ void hints(unsigned char *to, const unsigned char *from)
{
    copy_all((signed char *)to, (const signed char *)from);
    copy_all((short *)(to + 16), (const short *)(from + 16));
    copy_all((float *)(to + 32), (const float *)(from + 32));
    copy_all((double *)(to + 64), (const double *)(from + 64));
    copy_all((int2 *)(to + 128), (const int2 *)(from + 128));
    copy_all((float4 *)(to + 192), (const float4 *)(from + 192));
}

/* Each of the 64 threads, in two blocks, by the operations of both scopes */
#define SCOPES(end, w, l, f) \
    atomicAdd##end(&w[0], 1u); \
    atomicSub##end(&w[1], 2u); \
    atomicMin##end((int *)&w[2], -t); \
    atomicMax##end(&w[3], (unsigned)t); \
    atomicAnd##end(&w[4], ~(1u << (t & 31))); \
    atomicOr##end(&w[5], 1u << (t & 31)); \
    atomicXor##end(&w[6], 1u << (t & 31)); \
    atomicInc##end(&w[7], 9u); \
    atomicDec##end(&w[8], 9u); \
    if (atomicCAS##end(&w[9], 0u, 7u) == 0) \
        atomicAdd##end((int *)&w[10], 1); \
    if (atomicExch##end(&w[11], 3u) == 0) \
        atomicAdd##end((int *)&w[10], 100); \
    atomicAdd##end(&l[0], 1ull << 33); \
    atomicMax##end((long long *)&l[1], (long long)t << 34); \
    atomicAdd##end(f, 0.5f); \
    atomicAdd##end((double *)&l[2], 0.25); \
    atomicCAS((unsigned short *)&w[12] + 1, (unsigned short)t, (unsigned short)(t + 1));
extern "C" __global__ void scopes(unsigned *words, unsigned long long *longs, float *floats)
{
    int t = (int)threadIdx.x;
    unsigned *w = words + 16 * blockIdx.x;
    unsigned long long *l = longs + 4 * blockIdx.x;
    SCOPES(_block, w, l, floats + blockIdx.x)
    SCOPES(_system, (words + 32), (longs + 8), (floats + 2))
}

struct counted {
    int *count, value;
    __device__ counted(int *c, int v) : count(c), value(v)
    {
        atomicAdd(c, 1);
    }
    __device__ ~counted()
    {
        atomicSub(count, 1);
    }
};
extern "C" __global__ void objects(int *count, int *sum)
{
    counted *one = new counted(count, 5);
    int *many = new int[10];
    for (int i = 0; i < 10; i++)
        many[i] = i;
    __align__(8) char place[sizeof(counted)];
    counted *here = new (place) counted(count, 7);
    if (*count == 2)
        *sum = one->value + many[9] + here->value;
    here->~counted();
    delete one;
    delete[] many;
}
