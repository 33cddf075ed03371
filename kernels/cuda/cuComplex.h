/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Complex numbers for kernels that clang compiles without a toolkit: CUDA's names and meanings; the
 * real part is x. Quotients and magnitudes are scaled, so that nothing overflows on the way.
 */
#ifndef ACUDA_KERNELS_CUCOMPLEX_H
#define ACUDA_KERNELS_CUCOMPLEX_H

/* clang-format off: what is one fact a line stays one line */

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

/* a / b: the smaller part of b relative to the larger one */
#define ACUI_COMPLEX(type, real, f, magnitude)                                                     \
    ACUI_DEVICE real cuCreal##f(type a) { return a.x; }                                            \
    ACUI_DEVICE real cuCimag##f(type a) { return a.y; }                                            \
    ACUI_DEVICE type cuConj##f(type a) { return {a.x, -a.y}; }                                     \
    ACUI_DEVICE type cuCadd##f(type a, type b) { return {a.x + b.x, a.y + b.y}; }                  \
    ACUI_DEVICE type cuCsub##f(type a, type b) { return {a.x - b.x, a.y - b.y}; }                  \
    ACUI_DEVICE type cuCmul##f(type a, type b)                                                     \
    {                                                                                              \
        return {fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x)};                            \
    }                                                                                              \
    ACUI_DEVICE type cuCfma##f(type a, type b, type c)                                             \
    {                                                                                              \
        return {fma(-a.y, b.y, fma(a.x, b.x, c.x)), fma(a.y, b.x, fma(a.x, b.y, c.y))};            \
    }                                                                                              \
    ACUI_DEVICE type cuCdiv##f(type a, type b)                                                     \
    {                                                                                              \
        if (fabs(b.x) >= fabs(b.y)) {                                                              \
            real ratio = b.y / b.x, size = fma(b.y, ratio, b.x);                                   \
            return {fma(a.y, ratio, a.x) / size, fma(-a.x, ratio, a.y) / size};                    \
        }                                                                                          \
        real ratio = b.x / b.y, size = fma(b.x, ratio, b.y);                                       \
        return {fma(a.x, ratio, a.y) / size, fma(a.y, ratio, -a.x) / size};                        \
    }                                                                                              \
    ACUI_DEVICE real cuCabs##f(type a) { return magnitude(a.x, a.y); }
ACUI_COMPLEX(cuFloatComplex, float, f, hypotf)
ACUI_COMPLEX(cuDoubleComplex, double, , hypot)
#undef ACUI_COMPLEX
ACUI_DEVICE cuFloatComplex make_cuFloatComplex(float x, float y) { return {x, y}; }
ACUI_DEVICE cuDoubleComplex make_cuDoubleComplex(double x, double y) { return {x, y}; }
ACUI_DEVICE cuComplex make_cuComplex(float x, float y) { return {x, y}; }
ACUI_DEVICE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
ACUI_DEVICE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) { return {(float)a.x, (float)a.y}; }

#endif
