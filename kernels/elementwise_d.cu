/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elementwise operations on f64. */
#include "elementwise.cuh"

ACUI_ELEMENTWISE_1(d)
ACUI_ELEMENTWISE_FUNCTIONS(d)
ACUI_ELEMENTWISE_2(d)
ACUI_ELEMENTWISE_3(d)
