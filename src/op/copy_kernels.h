/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the kernels of kernels/copy.cu are passed: one struct each, by value. For C and CUDA C++. */
#ifndef ACUI_OP_COPY_KERNELS_H
#define ACUI_OP_COPY_KERNELS_H

/* Many copies at once: each from one contiguous place to another. */
typedef struct acui_copy_piece {
    unsigned long long dst, src, bytes;
} acui_copy_piece;

/* Kernels copy_many_N take up to N of them. All fits into the 4096 bytes
 * that parameters may have. */
#define ACUI_COPY_MANY(X) X(16) X(64) X(168)
#define ACUI_COPY_MOST 168

#define ACUI_X(n)                                                                                  \
    typedef struct acui_copy_many_##n {                                                            \
        unsigned long long count;                                                                  \
        acui_copy_piece pieces[n];                                                                 \
    } acui_copy_many_##n;
ACUI_COPY_MANY(ACUI_X)
#undef ACUI_X

#define ACUI_WALK_RANK 7 /* those of a tensor, and units of a run */

/*
 * A walk over units of 1, 2, 4, 8 or 16 bytes, the fastest dimension first. A place in it is found
 * by dividing: below 2^31 units by multiplying with `magic` and shifting.
 */
typedef struct acui_walk {
    unsigned long long dst, src, units;
    unsigned rank, narrow; /* narrow: fewer than 2^31 units */
    unsigned long long dim[ACUI_WALK_RANK];
    long long to[ACUI_WALK_RANK], from[ACUI_WALK_RANK]; /* bytes */
    unsigned magic[ACUI_WALK_RANK], shift[ACUI_WALK_RANK];
    unsigned long long value[2]; /* of a fill */
} acui_walk;

/*
 * A copy whose sides are contiguous in different dimensions: tiles of 32 by 32 units go through
 * shared memory. `across` is contiguous at the destination, `down` at the source.
 */
typedef struct acui_turn {
    unsigned long long dst, src;
    unsigned long long across, down;
    long long to_down, from_across; /* bytes from one to the next where they are not contiguous */
    unsigned long long tiles;       /* of all */
    unsigned rank, unused;          /* dimensions besides, the fastest first */
    unsigned long long dim[ACUI_WALK_RANK];
    long long to[ACUI_WALK_RANK], from[ACUI_WALK_RANK];
} acui_turn;

#define ACUI_TURN_TILE 32
#define ACUI_TURN_ROWS 8 /* of threads in a block, 32 each */

#endif
