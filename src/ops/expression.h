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
/* No text becomes more than six times as long: "<" and "!" become six bytes. */
#define ACUI_EXPRESSION_CODE (6 * ACUI_EXPRESSION_TEXT + 64)

typedef struct acui_parsed {
    size_t operands;
    bool complex;       /* the result is a complex number */
    bool makes_complex; /* some of it is made of parts: there have to be complex numbers */
    char names[ACUI_FUSED_OPERANDS][ACUI_EXPRESSION_NAME];
    char code[ACUI_EXPRESSION_CODE]; /* in terms of operands v0, v1, ...; functions are fn_NAME */
} acui_parsed;

/* What is known of operands when an op is planned. */
typedef struct acui_operand_types {
    unsigned complex; /* bit i: operand i is complex */
    uint64_t largest; /* of integers: the largest number in a text; else 0 */
} acui_operand_types;

/* On failure INVALID, or DTYPE for what complex numbers or integers do not have, with the column,
 * counted from 1. The code is the same for any types. */
acu_status acui_expression_parse(const char *text, const acui_operand_types *types,
                                 acui_parsed *parsed);

/*
 * What a kernel does with an expression: its name, and its code, in terms of
 *   E                the type of an operand as it is computed with: T (for integers acui_whole),
 *                    or acui_number where T is the type of a part
 *   S, O             how operands and, in `fused`, the result are stored
 *   from, put        from an S to an E; from an E to an S or O
 *   to_e(a, b)       of the bits of a float, double or integer, or of two doubles
 *   shifted_up(e, n) the E of the lane n before this one
 *   N, PLACE_NAME    operands, and the place of the operand NAME
 *   value(v)         the expression of v[0 .. N - 1]
 * Static: a use is known by its address.
 */
typedef struct acui_expression_use {
    const char *kernel, *code;
    bool part; /* O is a part of a complex number */
} acui_expression_use;

/* What a kernel is for. `complex`: as above. */
typedef struct acui_expression_for {
    acu_device *device;
    acu_dtype dtype;
    unsigned complex;
    const acui_expression_use *use;
} acui_expression_for;

/* The kernel, with a reference for the caller; it can be launched while it is being compiled. */
acu_status acui_expression_kernel(acu_expression *expression, const acui_expression_for *of,
                                  acu_kernel **kernel);

/* Whether expressions take the dtype. */
bool acui_expression_takes(acu_dtype dtype);
/* The bits that a kernel gets for a number beside tensors of the dtype, as acui_scalar_bits. */
bool acui_expression_bits(const acu_val *scalar, acu_dtype dtype, uint64_t bits[2], char *why);
/* The operands' `complex` for values of the dtype; 0 if it is not complex. On failure, as
 * acui_expression_parse. *result: whether the result is complex. */
acu_status acui_expression_types(acu_expression *expression, acu_dtype dtype, const acu_val *values,
                                 unsigned *complex, bool *result);

enum { ACUI_EXPRESSION_SOURCE = ACUI_EXPRESSION_CODE + 20480 }; /* bytes */
/* Writes the kernel's source to `text`, which has so many bytes (fused_source.c). */
void acui_expression_write(const acui_parsed *parsed, const acui_expression_for *of, char *text);

#endif
