/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/arrange.cu. Include ops/params.h first. */
#ifndef ACUI_OPS_ARRANGE_PARAMS_H
#define ACUI_OPS_ARRANGE_PARAMS_H

/* Which place of the source place x of the result comes from, along one dimension, if y is
 * x + offset and the source has n places there. */
enum acui_move_mode {
    ACUI_MOVE_PLAIN,    /* x */
    ACUI_MOVE_DIVIDE,   /* x / period */
    ACUI_MOVE_WRAP,     /* y mod n */
    ACUI_MOVE_FILL,     /* y; where there is none, the result is the fill value */
    ACUI_MOVE_EDGE,     /* y, or the nearest place that there is */
    ACUI_MOVE_REFLECT,  /* y, mirrored at the outermost elements */
    ACUI_MOVE_SYMMETRIC /* y, mirrored at the outer edges of these elements */
};

enum acui_triangle { ACUI_NO_TRIANGLE, ACUI_LOWER, ACUI_UPPER };

#define ACUI_MOVE_VECTORS 2 /* of 16 bytes, that a thread loads before it stores the first */

/* A box of the result: rows along its last dimension, cut into segments. A segment is `turns` times
 * ACUI_MOVE_VECTORS vectors for each thread of a group. In `index`, and only there, the last
 * dimension counts the segments of a row. */
typedef struct acui_move {
    long long segments; /* of all rows */
    long long extent;   /* of a row, in elements */
    acui_index index;
    long long to[ACUI_RANK], from[ACUI_RANK]; /* strides, in bytes */
    long long offset[ACUI_RANK], source[ACUI_RANK];
    long long period[ACUI_RANK]; /* in which the source repeats; magic and shift divide by it */
    unsigned magic[ACUI_RANK], shift[ACUI_RANK];
    int mode[ACUI_RANK];
    int wide; /* 31 bits do not hold all places, with their offsets */
    int group, turns;
    long long to_base, from_base; /* bytes before the first */
} acui_move;

#define ACUI_MOVES 4 /* boxes that a launch fills */

typedef struct acui_moves {
    int count;
    int triangle; /* of the last two dimensions, which are then not merged; the rest becomes 0 */
    long long diagonal;
    unsigned long long fill[2]; /* repeated to 16 bytes */
    acui_move move[ACUI_MOVES];
} acui_moves;

#endif
