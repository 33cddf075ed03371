/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For kernels of programs that clang compiles at run time: functions of math_f64.cuh under their usual
 * names, and those of float under the names that C++ gives them too, as CUDA has them.
 */
#ifndef ACUDA_KERNELS_MATH_NAMES_CUH
#define ACUDA_KERNELS_MATH_NAMES_CUH

#include "math_f64.cuh"

ACUI_DEVICE double sin(double x) { return acui_sine(x); }
ACUI_DEVICE double cos(double x) { return acui_cosine(x); }
ACUI_DEVICE double tan(double x) { return acui_sine(x) / acui_cosine(x); }
ACUI_DEVICE double tanh(double x) { return acui_tanh(x); }
ACUI_DEVICE double erf(double x) { return acui_erf(x); }
ACUI_DEVICE double pow(double x, double y) { return acui_power(x, y); }
ACUI_DEVICE double rsqrt(double x) { return 1.0 / sqrt(x); }

ACUI_DEVICE float sin(float x) { return sinf(x); }
ACUI_DEVICE float cos(float x) { return cosf(x); }
ACUI_DEVICE float tan(float x) { return tanf(x); }
ACUI_DEVICE float tanh(float x) { return tanhf(x); }
ACUI_DEVICE float erf(float x) { return erff(x); }
ACUI_DEVICE float pow(float x, float y) { return powf(x, y); }
ACUI_DEVICE float rsqrt(float x) { return rsqrtf(x); }

#endif
