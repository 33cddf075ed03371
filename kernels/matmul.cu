/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of matrices of real numbers and integers. */
#include "matmul.cuh"

ACUI_MATMUL(matmul_f, acui_f, 128, 8, 8)
ACUI_MATMUL(matmul_small_f, acui_f, 32, 16, 2)
ACUI_MATMUL(matmul_d, acui_d, 64, 8, 4)
ACUI_MATMUL(matmul_small_d, acui_d, 32, 16, 2)
ACUI_MATMUL(matmul_i, acui_i, 64, 8, 4)
ACUI_MATMUL(matmul_small_i, acui_i, 32, 16, 2)
ACUI_MATMUL(matmul_l, acui_l, 64, 8, 4)
ACUI_MATMUL(matmul_small_l, acui_l, 32, 16, 2)
