/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How the lanes of a warp hold matrices, and how elements are multiplied: shared by the decoder and
 * the handlers of mma, ldmatrix and the like.
 */
#ifndef SOFTCUDA_EXEC_MATRIX_H
#define SOFTCUDA_EXEC_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/machine.h"

/* What elements are. */
typedef enum sx_element {
    SX_ELEMENT_F16,
    SX_ELEMENT_BF16,
    SX_ELEMENT_TF32,
    SX_ELEMENT_F32,
    SX_ELEMENT_F64,
    SX_ELEMENT_S8,
    SX_ELEMENT_U8,
    SX_ELEMENT_S4,
    SX_ELEMENT_U4,
    SX_ELEMENT_B1,
    SX_ELEMENT_S32,
} sx_element;

#define SX_MATRIX_M 16
#define SX_MATRIX_N 8
#define SX_MATRIX_K 256

/* A product D = A * B + C of one instruction. */
typedef struct sx_product {
    uint8_t m, n;
    uint16_t k;
    uint8_t a, b, c, d;  /* sx_element */
    bool a_col, b_row;   /* m8n8k4 of f16 only: how the four small matrices are held */
    bool quads;          /* m8n8k4 of f16: four products of eight lanes each */
    bool saturates;      /* .satfinite */
    bool and_popc;       /* b1: and instead of xor */
    uint8_t regs[4];     /* registers of a, b, c, d in each lane */
    sx_call_info *lists; /* the registers: a, b, c, then d */
} sx_product;

/* Bits of an element, and how many are in one register. */
static inline unsigned sx_element_bits(unsigned element)
{
    static const uint8_t bits[] = {16, 16, 32, 32, 64, 8, 8, 4, 4, 1, 32};
    return bits[element];
}

/* Where an element is: lane, register of the list, and number within the register. */
typedef struct sx_spot {
    uint8_t lane, reg, at;
} sx_spot;

#endif
