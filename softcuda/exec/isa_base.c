/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The lane handlers for any CPU that the compiler's default target runs on. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SX_ISA_LEVEL 0
#define SX_ISA_TABLE sx_handlers_base
#include "exec/isa.h"
