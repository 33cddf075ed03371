/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reductions of f32, f16 and bf16. */
#include "reduce.cuh"

ACUI_REDUCE(f)
