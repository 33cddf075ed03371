/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of matrices by cuBLAS, where it can express them. */
#ifndef ACUI_OPS_GEMM_H
#define ACUI_OPS_GEMM_H

#include "ops/cublas.h"
#include "ops/params.h"

#include <acuda/op.h>

/* Compute two small products with a new handle, in memory of their own: what the library
 * prepares for the first call of a kind in a process takes long. The caller has entered the
 * device. Blocks. */
void acui_gemm_warm_up(acu_device *device, acui_cublas_handle handle);

/* Make `launch`, which does the product on the device, ask cuBLAS first if cuBLAS can express it.
 * Starts loading cuBLAS the first time; if that fails, returns a failed op. */
acu_op *acui_gemm_ask(acu_device *device, const acui_matmul *product, acu_op *launch);

#endif
