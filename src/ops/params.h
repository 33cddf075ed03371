/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the host passes to built-in kernels besides pointers, by value; for C and for CUDA C++. All
 * counts are of elements. A dimension of a layout is divided by without a division (magic, shift),
 * where the whole has fewer than 2^31 elements.
 */
#ifndef ACUI_OPS_PARAMS_H
#define ACUI_OPS_PARAMS_H

#define ACUI_RANK 6
#define ACUI_BLOCK 256      /* threads of a block, of all these kernels */
#define ACUI_OPERANDS 9     /* the result and at most eight */
#define ACUI_FUNCTION_UNROLL 2 /* the same where each element takes long */
#define ACUI_UNROLL 4       /* vectors of at most 16 bytes that a thread loads before it uses one */

/*
 * The first two as text too, which generated kernels begin with (fused.c).
 *
 * acui_index: how an index, row-major over `dim`, becomes one; dim[0] is the slowest; `wide`:
 * elements do not fit into 31 bits. acui_operand: strides, or, where there is no memory
 * (is_scalar), the bits of a float, double, int or 64-bit int.
 */
#define ACUI_LAYOUT_TYPES                                                                          \
    typedef struct acui_index {                                                                    \
        int rank;                                                                                  \
        int wide;                                                                                  \
        long long dim[ACUI_RANK];                                                                  \
        unsigned magic[ACUI_RANK], shift[ACUI_RANK];                                               \
    } acui_index;                                                                                  \
    typedef struct acui_operand {                                                                  \
        long long stride[ACUI_RANK];                                                               \
        unsigned long long scalar;                                                                 \
        int dtype;                                                                                 \
        int is_scalar;                                                                             \
    } acui_operand;                                                                                \
    typedef struct acui_fused {                                                                    \
        long long elements;                                                                        \
        int linear;                                                                                \
        acui_index index;                                                                          \
        acui_operand at[1 + ACUI_FUSED_OPERANDS];                                                  \
    } acui_fused;
#define ACUI_FUSED_OPERANDS 8
ACUI_LAYOUT_TYPES

typedef struct acui_elementwise {
    long long elements;
    int op;
    int linear; /* all with memory are dense, and in the same order */
    int unsigned_order; /* of 32-bit or 64-bit integers, that fill their type */
    acui_index index;
    acui_operand at[4]; /* 0: the result */
} acui_elementwise;

/* Between f4e2m1fnx2, two numbers in a byte, and another dtype, where they are neighbours along the
 * last dimension. */
typedef struct acui_pairs {
    long long pairs;
    long long step;     /* elements of the other tensor from the first of a pair to the second */
    int dtype;          /* the other */
    acui_index index;
    acui_operand at[2]; /* the result, the operand: strides from pair to pair */
} acui_pairs;

/* Values that follow from where an element is. */
typedef struct acui_sequence {
    long long elements;
    int kind;                     /* acui_sequence_kind */
    int linear;
    double start, step, end;      /* of floating point */
    long long first, stride;      /* of integers; `first` is also the diagonal of eye */
    long long columns;            /* of eye */
    acui_index index;
    acui_operand out;
} acui_sequence;

enum acui_sequence_kind { ACUI_ARANGE, ACUI_LINSPACE, ACUI_EYE };

/*
 * A reduction: of each of the kept elements, `reduced` elements of x. They are cut into `splits` of
 * `chunk`; where there are several, each leaves a partial result, and another launch puts them
 * together.
 */
typedef struct acui_reduction {
    long long kept_count, reduced_count, chunk;
    int splits;
    int op;
    int dtype;        /* of x */
    int out_dtype;
    int group;        /* threads for one kept element; a power of two, at most ACUI_BLOCK */
    int contiguous;   /* the reduced elements are neighbours */
    int unsigned_order;
    int partial;      /* write partial results */
    acui_index kept, reduced;
    acui_operand x, out; /* strides along the kept dimensions */
    acui_operand along;  /* strides of x along the reduced dimensions */
} acui_reduction;

/* Random numbers: element i is the one with number offset + i of the
 * sequence that the seed names. */
typedef struct acui_random {
    long long elements, offset;
    unsigned long long seed, range; /* integers: low .. low + range - 1 */
    long long low;
    int normal, linear;
    acui_index index;
    acui_operand out;
} acui_random;

/* out = a b, for each matrix of a batch; strides in elements, of rows and of columns. */
typedef struct acui_matmul {
    long long m, n, k, batches;
    long long a_row, a_column, b_row, b_column, out_row, out_column;
    int dtype;
    acui_index batch;
    acui_operand at[3]; /* out, a, b: strides along the batch */
} acui_matmul;

#define ACUI_SOFTMAX_BLOCK 512 /* threads of a block of softmax_rows */
#define ACUI_SOFTMAX_HELD 128  /* bytes of a row, as it is computed with,
                                * that its threads hold each */

/* Softmax of `count` elements for each of the kept ones; in `splits` of
 * `chunk` where these are few. */
typedef struct acui_softmax {
    long long kept_count, count, chunk;
    long long x_stride, out_stride; /* along what is summed up */
    int dtype, log, group, splits;
    acui_index kept;
    acui_operand at[2]; /* out, x */
} acui_softmax;

/* A dtype of kernels only: f64 of what is read as u64. */
#define ACUI_F64_OF_U64 100

#endif
