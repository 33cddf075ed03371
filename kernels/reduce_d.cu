/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reductions of f64. */
#include "reduce.cuh"

ACUI_REDUCE(d)
