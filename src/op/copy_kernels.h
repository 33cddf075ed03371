/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the kernels of kernels/copy.cu get as parameters: one struct each, by value. The header is
 * compiled as C and as CUDA C++, so that both sides agree on every offset.
 */
#ifndef ACUI_OP_COPY_KERNELS_H
#define ACUI_OP_COPY_KERNELS_H

/* One of many copies that are done at once: from one contiguous place to another. */
typedef struct acui_copy_piece {
    unsigned long long dst, src, bytes;
} acui_copy_piece;

/* Kernel copy_many_N takes up to N pieces. The largest struct fits into the 4096 bytes that a
 * kernel's parameters may have. */
#define ACUI_COPY_MANY(X) X(16) X(64) X(168)
#define ACUI_COPY_MOST 168

#define ACUI_X(n)                                                                                  \
    typedef struct acui_copy_many_##n {                                                            \
        unsigned long long count;                                                                  \
        acui_copy_piece pieces[n];                                                                 \
    } acui_copy_many_##n;
ACUI_COPY_MANY(ACUI_X)
#undef ACUI_X

#define ACUI_WALK_RANK 7 /* a tensor's dimensions, and one for the units of a run */

/*
 * A walk over units of 1, 2, 4, 8 or 16 bytes, the fastest dimension first. The kernel finds a
 * place in it by dividing; with fewer than 2^31 units it multiplies by `magic` and shifts instead.
 */
typedef struct acui_walk {
    unsigned long long dst, src, units;
    unsigned rank, narrow; /* narrow: fewer than 2^31 units */
    unsigned long long dim[ACUI_WALK_RANK];
    long long to[ACUI_WALK_RANK], from[ACUI_WALK_RANK]; /* bytes */
    unsigned magic[ACUI_WALK_RANK], shift[ACUI_WALK_RANK];
    unsigned long long value[2]; /* what a fill writes */
} acui_walk;

/*
 * A copy whose two sides are contiguous in different dimensions: tiles of 32 by 32 units go through
 * shared memory. `across` is the dimension that is contiguous at the destination, `down` the one at
 * the source.
 */
typedef struct acui_turn {
    unsigned long long dst, src;
    unsigned long long across, down;
    long long to_down, from_across; /* distance in bytes where a side is not contiguous */
    unsigned long long tiles;       /* in all dimensions */
    unsigned rank, unused;          /* `rank`: the other dimensions, the fastest first */
    unsigned long long dim[ACUI_WALK_RANK];
    long long to[ACUI_WALK_RANK], from[ACUI_WALK_RANK];
} acui_turn;

#define ACUI_TURN_TILE 32
#define ACUI_TURN_ROWS 8 /* rows of threads in a block, 32 threads each */

#endif
