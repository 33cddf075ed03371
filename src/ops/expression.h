/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Expressions as text, checked and turned into CUDA C++ for a fused kernel (fused.c). What passes
 * the check consists of numbers, operands, operators and known functions only.
 */
#ifndef ACUI_OPS_EXPRESSION_H
#define ACUI_OPS_EXPRESSION_H

#include "ops/ops.h"

#define ACUI_EXPRESSION_TEXT 2048  /* bytes that an expression may have */
#define ACUI_EXPRESSION_NAME 32
/* No text becomes more than six times as long: "1", "<" and "!" become six bytes. */
#define ACUI_EXPRESSION_CODE (6 * ACUI_EXPRESSION_TEXT + 64)

typedef struct acui_parsed {
    size_t operands;
    char names[ACUI_FUSED_OPERANDS][ACUI_EXPRESSION_NAME];
    char code[ACUI_EXPRESSION_CODE]; /* in terms of operands v0, v1, ...; functions are fn_NAME */
} acui_parsed;

/* On failure INVALID, with the column, counted from 1. */
acu_status acui_expression_parse(const char *text, acui_parsed *parsed);

/* What a kernel does with an expression: its name, and its code, in terms of T (in which it
 * computes), S (as it is stored), from and to (between these), N operands, PLACE_NAME (the place of
 * the operand NAME), and value(v), the expression of v[0 .. N - 1]. Static: a use is known by its
 * address. */
typedef struct acui_expression_use {
    const char *kernel, *code;
} acui_expression_use;

/* The kernel for the dtype on the device, with a reference for the caller; it can be launched while
 * it is being compiled. */
acu_status acui_expression_kernel(acu_expression *expression, acu_device *device, acu_dtype dtype,
                                  const acui_expression_use *use, acu_kernel **kernel);

#endif
