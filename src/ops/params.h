/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the host passes by value to built-in kernels, besides pointers; for C and for CUDA C++. All
 * counts are of elements. Where the whole has fewer than 2^31 elements, kernels divide by a
 * dimension of a layout without a division (magic, shift).
 */
#ifndef ACUI_OPS_PARAMS_H
#define ACUI_OPS_PARAMS_H

#define ACUI_RANK 6
#define ACUI_BLOCK 256      /* threads in a block of nearly all these kernels */
#define ACUI_OPERANDS 9     /* the result and at most eight operands */
#define ACUI_FUNCTION_UNROLL 2 /* ACUI_UNROLL where each element takes long */
#define ACUI_UNROLL 4       /* vectors of at most 16 bytes that a thread loads before it uses the
                             * first */

/*
 * The types that also exist as text, with which generated kernels begin (fused.c).
 *
 * acui_index: turns a row-major index over `dim` into one index per dimension; dim[0] is the
 * slowest. `wide`: elements do not fit into 31 bits. acui_operand: strides, or, for an operand
 * without memory (is_scalar), the bits of a float, double, int or 64-bit int, or of two doubles.
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
        unsigned long long scalar, imaginary;                                                      \
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
    int linear; /* all operands in memory are dense, in the same order */
    int unsigned_order; /* integers are unsigned and fill their 32 or 64 bits */
    acui_index index;
    acui_operand at[4]; /* 0: the result */
} acui_elementwise;

/* Conversion between f4e2m1fnx2, which has two numbers in a byte, and another dtype, in which the
 * two are neighbours along the last dimension. */
typedef struct acui_pairs {
    long long pairs;
    long long step;     /* distance of the two in the other tensor, in elements */
    int dtype;          /* the other dtype */
    acui_index index;
    acui_operand at[2]; /* the result and the operand, with strides from pair to pair */
} acui_pairs;

/* Values that depend only on the place of an element. */
typedef struct acui_sequence {
    long long elements;
    int kind;                     /* acui_sequence_kind */
    int linear;
    double start, step, end;      /* for floating point */
    long long first, stride;      /* for integers; `first` is also the diagonal of eye */
    long long columns;            /* for eye */
    acui_index index;
    acui_operand out;
} acui_sequence;

enum acui_sequence_kind { ACUI_ARANGE, ACUI_LINSPACE, ACUI_EYE };

/*
 * A reduction of `reduced` elements of x for each kept element. These are cut into `splits` of
 * `chunk`; if there are several, each writes a partial result, and another launch combines them.
 */
typedef struct acui_reduction {
    long long kept_count, reduced_count, chunk;
    int splits;
    int op;
    int dtype;        /* the dtype of x */
    int out_dtype;
    int group;        /* threads for one kept element; a power of two, at most ACUI_BLOCK */
    int contiguous;   /* the reduced elements are neighbours */
    int unsigned_order;
    int partial;      /* partial results are written */
    acui_index kept, reduced;
    acui_operand x, out; /* strides along the kept dimensions */
    acui_operand along;  /* strides of x along the reduced dimensions */
} acui_reduction;

/* Random numbers: element i is number offset + i of the sequence that the seed names. */
typedef struct acui_random {
    long long elements, offset;
    unsigned long long seed, range; /* integers: low .. low + range - 1 */
    long long low;
    int normal, linear;
    acui_index index;
    acui_operand out;
} acui_random;

/* out = a b, for each matrix of a batch; strides of rows and columns, in elements. */
typedef struct acui_matmul {
    long long m, n, k, batches;
    long long a_row, a_column, b_row, b_column, out_row, out_column;
    int dtype;
    acui_index batch;
    acui_operand at[3]; /* out, a and b, with strides along the batch */
} acui_matmul;

/* Tiles of products by tensor cores (kernels/matmul_mma.cu): 64 by 64 for each warp, from strips of
 * 64 bytes along k, of which shared memory has so many. */
#define ACUI_MMA_ROWS 128
#define ACUI_MMA_COLUMNS 128
#define ACUI_MMA_STAGES 4
#define ACUI_MMA_THREADS (ACUI_MMA_ROWS * ACUI_MMA_COLUMNS / 128)
#define ACUI_MMA_SHARED (ACUI_MMA_STAGES * (ACUI_MMA_ROWS + ACUI_MMA_COLUMNS) * 64)

#define ACUI_SOFTMAX_BLOCK 512 /* most threads in a block of softmax_rows */
#define ACUI_SOFTMAX_HELD 128  /* bytes of a row, in the type of computation, that each of its
                                * threads holds */

/* Softmax over `count` elements for each kept element; over `splits` of `chunk` where there are few
 * kept elements. For cross entropy, the result and the targets have the kept elements. */
typedef struct acui_softmax {
    long long kept_count, count, chunk;
    long long x_stride, out_stride; /* along the dimension that is summed */
    int dtype, log, group, splits;
    int held, target_bytes; /* of cross entropy; held: rows fit into registers */
    acui_index kept;
    acui_operand at[3]; /* out, x, targets */
} acui_softmax;

/* Elements along one dimension, for each place of the others (a row), in up to ACUI_LINES_OF
 * tensors: the result, the operand, ... */
#define ACUI_LINES_OF 3
#define ACUI_LINES_TYPE                                                                            \
    typedef struct acui_lines {                                                                    \
        long long rows, count;           /* count: along the dimension */                          \
        long long stride[ACUI_LINES_OF]; /* along the dimension */                                 \
        acui_index kept;                                                                           \
        acui_operand at[ACUI_LINES_OF]; /* strides along the kept dimensions */                    \
    } acui_lines;
ACUI_LINES_TYPE

/* A dtype that only kernels know: f64 converted from u64. */
#define ACUI_F64_OF_U64 100

#endif
