/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elementwise operations on f32, f16 and bf16, in float. */
#include "elementwise.cuh"

ACUI_ELEMENTWISE_1(f)
ACUI_ELEMENTWISE_FUNCTIONS(f)
ACUI_ELEMENTWISE_2(f)
ACUI_ELEMENTWISE_3(f)
