/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The built-in operations by name; ops.h says what they do. Includes nothing, so that kernels may
 * include it.
 */
#ifndef ACUDA_OP_KINDS_H
#define ACUDA_OP_KINDS_H

/*
 * Elementwise operations: X(identifier, name in function names, number of operands, dtypes of the
 * operands, dtype of the result). Operands:
 *   FLOAT    f16, bf16, f32, f64
 *   NUMBER   these, and the integers of 8 to 64 bits
 *   INTEGER  the integers only
 *   BITS     the integers and bool
 *   ANY      all of these
 *   FLOAT_C, NUMBER_C, ANY_C   the same, and c64 and c128
 *   COMPLEX  c64, c128
 *   PARTS    f32, f64
 * The result has the operands' dtype (SAME) or is bool (BOOL). PART is the dtype of the parts: f32
 * for c64, f64 for c128, and any other dtype itself. WHOLE is the dtype that has such parts.
 */
#define ACU_ELEMENTWISE_OPS(X)                                                                     \
    X(COPY, "identity", 1, ANY_C, SAME) X(NEG, "neg", 1, NUMBER_C, SAME)                           \
    X(ABS, "abs", 1, NUMBER_C, PART) X(SIGN, "sign", 1, NUMBER_C, SAME)                            \
    X(SQUARE, "square", 1, NUMBER_C, SAME) X(RELU, "relu", 1, NUMBER, SAME)                        \
    X(FLOOR, "floor", 1, FLOAT, SAME) X(CEIL, "ceil", 1, FLOAT, SAME)                              \
    X(TRUNC, "trunc", 1, FLOAT, SAME) X(ROUND, "round", 1, FLOAT, SAME)                            \
    X(SQRT, "sqrt", 1, FLOAT_C, SAME) X(RSQRT, "rsqrt", 1, FLOAT_C, SAME)                          \
    X(RECIPROCAL, "reciprocal", 1, FLOAT_C, SAME)                                                  \
    X(EXP, "exp", 1, FLOAT_C, SAME) X(LOG, "log", 1, FLOAT_C, SAME)                                \
    X(SIN, "sin", 1, FLOAT_C, SAME) X(COS, "cos", 1, FLOAT_C, SAME)                                \
    X(TANH, "tanh", 1, FLOAT_C, SAME) X(SIGMOID, "sigmoid", 1, FLOAT, SAME)                        \
    X(GELU, "gelu", 1, FLOAT, SAME) X(SILU, "silu", 1, FLOAT, SAME)                                \
    X(ERF, "erf", 1, FLOAT, SAME) X(INVERT, "invert", 1, BITS, SAME)                               \
    X(NOT, "not", 1, ANY_C, BOOL) X(IS_NAN, "is_nan", 1, FLOAT_C, BOOL)                            \
    X(IS_FINITE, "is_finite", 1, FLOAT_C, BOOL)                                                    \
    X(ADD, "add", 2, NUMBER_C, SAME) X(SUB, "sub", 2, NUMBER_C, SAME)                              \
    X(MUL, "mul", 2, NUMBER_C, SAME) X(DIV, "div", 2, NUMBER_C, SAME)                              \
    X(MOD, "mod", 2, NUMBER, SAME) X(MIN, "min", 2, ANY, SAME) X(MAX, "max", 2, ANY, SAME)         \
    X(POW, "pow", 2, NUMBER_C, SAME)                                                               \
    X(EQ, "eq", 2, ANY_C, BOOL) X(NE, "ne", 2, ANY_C, BOOL) X(LT, "lt", 2, ANY, BOOL)              \
    X(LE, "le", 2, ANY, BOOL) X(GT, "gt", 2, ANY, BOOL) X(GE, "ge", 2, ANY, BOOL)                  \
    X(AND, "and", 2, ANY_C, BOOL) X(OR, "or", 2, ANY_C, BOOL) X(XOR, "xor", 2, ANY_C, BOOL)        \
    X(BIT_AND, "bit_and", 2, BITS, SAME) X(BIT_OR, "bit_or", 2, BITS, SAME)                        \
    X(BIT_XOR, "bit_xor", 2, BITS, SAME)                                                           \
    X(SHIFT_LEFT, "shift_left", 2, INTEGER, SAME)                                                  \
    X(SHIFT_RIGHT, "shift_right", 2, INTEGER, SAME)                                                \
    X(WHERE, "where", 3, ANY_C, SAME) X(CLAMP, "clamp", 3, NUMBER, SAME)                           \
    X(FMA, "fma", 3, FLOAT, SAME)                                                                  \
    X(CONJ, "conj", 1, COMPLEX, SAME) X(REAL, "real", 1, COMPLEX, PART)                            \
    X(IMAG, "imag", 1, COMPLEX, PART) X(ANGLE, "angle", 1, COMPLEX, PART)                          \
    X(COMPLEX, "complex", 2, PARTS, WHOLE)

typedef enum acu_elementwise {
#define ACU_X(id, name, operands, of, result) ACU_OP_##id,
    ACU_ELEMENTWISE_OPS(ACU_X)
#undef ACU_X
    ACU_ELEMENTWISE_COUNT
} acu_elementwise;

/* Reductions: X(identifier, name in function names, dtypes of the operand, dtype of the result).
 * WIDE is 64 bits for integers and bool; INDEX is i64. A mean of integers or bool is of f64. */
#define ACU_REDUCTIONS(X)                                                                          \
    X(SUM, "sum", ANY_C, WIDE) X(PROD, "prod", ANY_C, WIDE) X(MEAN, "mean", ANY_C, SAME)           \
    X(NORM, "norm", FLOAT_C, PART) X(MIN, "min", ANY, SAME) X(MAX, "max", ANY, SAME)               \
    X(ANY, "any", ANY_C, BOOL) X(ALL, "all", ANY_C, BOOL)                                          \
    X(ARGMIN, "argmin", ANY, INDEX) X(ARGMAX, "argmax", ANY, INDEX)

typedef enum acu_reduction {
#define ACU_X(id, name, of, result) ACU_REDUCE_##id,
    ACU_REDUCTIONS(ACU_X)
#undef ACU_X
    ACU_REDUCTION_COUNT
} acu_reduction;

#endif
