/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elementwise operations on i64 and u64. */
#include "elementwise.cuh"

ACUI_ELEMENTWISE_1(l)
ACUI_ELEMENTWISE_2(l)
ACUI_ELEMENTWISE_3(l)
