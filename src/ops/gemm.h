/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of matrices by cuBLAS, where it can express them. */
#ifndef ACUI_OPS_GEMM_H
#define ACUI_OPS_GEMM_H

#include "ops/params.h"
#include "vendor/cublas.h"

#include <acuda/op.h>

/* Make `launch`, which does the product on the device, ask cuBLAS first if cuBLAS can express it.
 * Starts loading cuBLAS the first time; if that fails, returns a failed op. */
acu_op *acui_gemm_ask(acu_device *device, const acui_matmul *product, acu_op *launch);

#endif
