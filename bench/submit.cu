/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axpy(inout y: f32 [n], in x: f32 [n], a: f32, n: u32), and the same under 200 other names. */
#define AXPY(name)                                                                                 \
    extern "C" __global__ void name(float *y, const float *x, float a, unsigned n)                 \
    {                                                                                              \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
        if (i < n)                                                                                 \
            y[i] += a * x[i];                                                                      \
    }
#define TEN(n)                                                                                     \
    AXPY(axpy##n##0)                                                                               \
    AXPY(axpy##n##1)                                                                               \
    AXPY(axpy##n##2)                                                                               \
    AXPY(axpy##n##3)                                                                               \
    AXPY(axpy##n##4)                                                                               \
    AXPY(axpy##n##5)                                                                               \
    AXPY(axpy##n##6)                                                                               \
    AXPY(axpy##n##7)                                                                               \
    AXPY(axpy##n##8)                                                                               \
    AXPY(axpy##n##9)

AXPY(axpy)
TEN(0)
TEN(1)
TEN(2)
TEN(3)
TEN(4)
TEN(5)
TEN(6)
TEN(7)
TEN(8)
TEN(9)
TEN(10)
TEN(11)
TEN(12)
TEN(13)
TEN(14)
TEN(15)
TEN(16)
TEN(17)
TEN(18)
TEN(19)
