/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reductions of bool and integers. */
#include "reduce.cuh"

ACUI_REDUCE(l)
