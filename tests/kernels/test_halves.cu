/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The numbers of 16 and 8 bits that kernels compute with, for test_halves.c to check. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

static __device__ unsigned short bits_of(__half v)
{
    return __half_as_ushort(v);
}
static __device__ unsigned short bits_of(__nv_bfloat16 v)
{
    return __bfloat16_as_ushort(v);
}

/* 16 results for each triple of bits, as bits */
template <typename T, typename T2>
static __device__ void arithmetic(unsigned short *o, T a, T b, T c)
{
    T2 sum = T2(a, b) + T2(b, c), product = T2(a, b) * T2(c, c),
       fused = __hfma2(T2(a, c), T2(b, b), T2(c, a));
    o[0] = bits_of(a + b);
    o[1] = bits_of(a - b);
    o[2] = bits_of(a * b);
    o[3] = bits_of(a / b);
    o[4] = bits_of(__hfma(a, b, c));
    o[5] = bits_of(-a);
    o[6] = bits_of(__hmax(a, b));
    o[7] = bits_of(__hmin(a, b));
    o[8] =
        (unsigned short)((a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a >= b) << 4 |
                         __hltu(a, b) << 5 | __hequ(a, b) << 6 | __hisnan(a) << 7);
    o[9] = bits_of(hsqrt(a));
    o[10] = bits_of(sum.y);
    o[11] = bits_of(product.x);
    o[12] = bits_of(product.y);
    o[13] = bits_of(fused.y);
    o[14] = (unsigned short)__heq2_mask(T2(a, b), T2(b, b));
    o[15] = bits_of(T((double)(float)a * 1.0009765625 + (double)(float)b));
}
extern "C" __global__ void half_arithmetic(unsigned short *out, const unsigned short *in, int n)
{
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        arithmetic<__half, __half2>(out + 16 * i, __ushort_as_half(in[i]),
                                    __ushort_as_half(in[i + n]), __ushort_as_half(in[i + 2 * n]));
}
extern "C" __global__ void bfloat16_arithmetic(unsigned short *out, const unsigned short *in, int n)
{
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        arithmetic<__nv_bfloat16, __nv_bfloat162>(out + 16 * i, __ushort_as_bfloat16(in[i]),
                                                  __ushort_as_bfloat16(in[i + n]),
                                                  __ushort_as_bfloat16(in[i + 2 * n]));
}

/* Conversions: of float, 8 words each; of all 65,536 bits to float */
extern "C" __global__ void conversions(unsigned *out, const float *in, int n)
{
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        unsigned *o = out + 8 * i;
        float v = in[i];
        o[0] = bits_of(__float2half(v)) | (unsigned)bits_of(__float2bfloat16(v)) << 16;
        o[1] = bits_of(__float2half_rz(v)) | (unsigned)bits_of(__float2bfloat16_rz(v)) << 16;
        o[2] = bits_of(__float2half_ru(v)) | (unsigned)bits_of(__float2bfloat16_ru(v)) << 16;
        o[3] = bits_of(__float2half_rd(v)) | (unsigned)bits_of(__float2bfloat16_rd(v)) << 16;
        o[4] = __nv_fp8_e4m3(v).__x | (unsigned)__nv_fp8_e5m2(v).__x << 8 |
               (unsigned)__nv_cvt_float_to_fp8(v, __NV_NOSAT, __NV_E4M3) << 16 |
               (unsigned)__nv_cvt_float_to_fp8(v, __NV_NOSAT, __NV_E5M2) << 24;
        o[5] = __half_as_ushort(__int2half_rn(__float_as_int(v))) |
               (unsigned)bits_of(__int2bfloat16_rn(__float_as_int(v))) << 16;
        o[6] = (unsigned)__half2int_rn(__half(v));
        o[7] = __nv_fp8x4_e4m3(make_float4(v, -v, 2 * v, 0.5f * v)).__x;
    }
}
extern "C" __global__ void to_float(float *out)
{
    for (unsigned i = threadIdx.x; i < 65536; i += blockDim.x) {
        out[4 * i] = __half2float(__ushort_as_half((unsigned short)i));
        out[4 * i + 1] = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
        __nv_fp8_e4m3 a;
        __nv_fp8_e5m2 b;
        a.__x = b.__x = (unsigned char)i;
        out[4 * i + 2] = float(a);
        out[4 * i + 3] = float(b);
    }
}

/* Every thread adds 1 to its element, and to its pair */
extern "C" __global__ void additions(__half *h, __nv_bfloat16 *b, __half2 *h2, __nv_bfloat162 *b2)
{
    unsigned i = threadIdx.x % 3;
    atomicAdd(h + i, __half(1.0f));
    atomicAdd(b + i, __nv_bfloat16(1.0f));
    atomicAdd(h2 + i, __half2(1.0f, 2.0f));
    atomicAdd(b2 + i, __nv_bfloat162(1.0f, 2.0f));
    __half moved = __shfl_xor_sync(0xffffffffu, __half((float)threadIdx.x), 1);
    if (threadIdx.x == 6)
        h[3] = moved;
}
