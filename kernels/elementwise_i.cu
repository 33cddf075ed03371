/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elementwise operations on bool and integers of up to 32 bits. */
#include "elementwise.cuh"

ACUI_ELEMENTWISE_1(i)
ACUI_ELEMENTWISE_2(i)
ACUI_ELEMENTWISE_3(i)
