/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of matrices together with what comes before and after them, in one call of cuBLASLt:
 *
 *   acu_product_options layer = {.size = sizeof layer, .epilogue = ACU_EPILOGUE_GELU,
 *                                .bias = acu_value(bias)};
 *   acu_op *y = acu_product(x, w, &layer);                 y = gelu(x w + bias)
 *
 * Plain products are in ops.h (acu_matmul), and need no library; here cuBLASLt must be found
 * (vendor.h), or the operations fail with NOT_FOUND. What it does for a shape is chosen once, by
 * its heuristics, on one of acuda's threads: the first operations of a shape wait for that on the
 * host, but submitting does not. A device keeps the last 64 choices that were used. Temporary
 * memory comes from the device's pool; where there is too little, a way that needs none is used,
 * unless the same bits are promised. The choices are kept on disk, too, in the folder for compiled
 * code if there is one (compile.h), for processes that come later; cuBLASLt checks them. In graphs,
 * cached and explicit, the calls are captured.
 */
#ifndef ACUDA_PRODUCT_H
#define ACUDA_PRODUCT_H

#include <acuda/op.h>
#include <acuda/vendor.h>

ACU_BEGIN

/* What is done to each sum s before it is stored. */
typedef enum acu_epilogue {
    ACU_EPILOGUE_NONE,
    ACU_EPILOGUE_RELU,          /* s where it is above 0, else 0 */
    ACU_EPILOGUE_GELU,          /* by tanh: s / 2 (1 + tanh(0.79788456 (s + 0.044715 s^3))) */
    ACU_EPILOGUE_RELU_GRADIENT, /* s where what went into RELU was above 0, 0 where it was below,
                                 * one of both where it was 0: reads `kept` */
    ACU_EPILOGUE_GELU_GRADIENT  /* s times the derivative of GELU there: reads `kept` */
} acu_epilogue;

/*
 * result = scale_result epilogue(alpha scale_a scale_b a b + beta c + bias)
 *
 * The ops are consumed, whatever happens, so that options with ops serve one call; acu_value makes
 * an op of a tensor. What is 0 or NULL is not there.
 */
typedef struct acu_product_options {
    size_t size;  /* sizeof(acu_product_options) */
    double alpha; /* 0: 1 */
    double beta;  /* needs c */
    acu_op *c;    /* of the result's dtype and shape, or [m, n] for all batches; any row stride */
    acu_op *bias; /* [n], added to each row: of the result's dtype; for f8 bf16, or f16 if the
                   * result is */
    acu_epilogue epilogue;
    acu_op *kept; /* what `keep` gave; gradients need it */
    bool keep;    /* RELU and GELU: a second value for the gradient. Of RELU bits, u8 [..., m, 16 *
                   * ((n + 127) / 128)]; of GELU its operand, like the result, n a multiple of 8 */
    bool sums;    /* a second value [n], of the result's dtype: for gradients the sums of the
                   * result's rows, which is the gradient of a bias; for ACU_EPILOGUE_NONE, without
                   * batches, the sums of b's rows (where b is the gradient of a result, and a the
                   * transposed operand) */
    acu_op *scale_a, *scale_b; /* f8: one f32 each, in device memory */
    acu_dtype dtype; /* the result's. By default that of the operands; bf16 for f8, i32 for i8 */
    bool deterministic;   /* the same bits in every run on one kind of GPU, with one version of
                           * cuBLASLt */
    bool batch_invariant; /* a row of the result has the same bits whatever the other rows, their
                           * number and the batches are. Implies `deterministic`. All operands must
                           * be aligned to 16 bytes; is slower for few rows */
    bool fast_sums;       /* f8: sums may be less precise than f32 */
    acu_op *scale_result; /* a result of f8: one f32, in device memory */
} acu_product_options;

/*
 * a [m, k] or [batches, m, k], b [k, n] or [batches, k, n]; the result, [m, n] or [batches, m, n],
 * is new, or goes where acu_into says, which must be dense and may be c. Yields the result and,
 * with `keep` or `sums`, the second value. `options` may be NULL.
 *
 *   f16, bf16   result of the same dtype, or f32; sums in f32
 *   f32, tf32   result of the same dtype; f32 is not rounded to tf32
 *   f64         no epilogue, no bias
 *   f8e4m3fn, f8e5m2 (not twice)   result bf16, f16, f32, or f8e4m3fn, with c and bias of bf16; k
 *               and n multiples of 16; no `keep`, no `sums`, no gradients; from compute capability
 *               8.9 on
 *   i8          result i32; k and n multiples of 4; alpha is 1, beta 0 or 1; no epilogue, no bias
 *
 * Each operand is dense along its rows or along its columns, so that a transposed view
 * (acu_transpose) costs nothing; of f8 and i8, a along its rows and b along its columns: a
 * transposed view of [n, k]. A batch of b, or of a, that is missing is used for all.
 *
 * Errors: SHAPE, DTYPE, INVALID (layouts, options that do not go together), SHARED, DEVICE,
 * NOT_FOUND; of the future: NOT_SUPPORTED (cuBLASLt has no algorithm for it on this device),
 * DRIVER, DEVICE_MEMORY, with its name for the status. Does not block. Driver: what it calls.
 */
#define acu_product(a, b, options)                                                                 \
    acu_op_product(ACU_OPERAND(a), ACU_OPERAND(b), (options), ACU_SITE)
ACU_API acu_op *acu_op_product(acu_op *a, acu_op *b, const acu_product_options *options,
                               acu_site site);

ACU_END
#endif
