/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The lane handlers for x86-64 CPUs with AVX2 and FMA. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Included before the target changes: nothing shared may be compiled for it. */
#include "exec/machine.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c")
#endif

#define SX_ISA_LEVEL 2
#define SX_ISA_TABLE sx_handlers_avx2
#include "exec/isa.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int sx_no_avx2;
#endif
