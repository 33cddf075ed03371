/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/select.cu. Include ops/params.h first. */
#ifndef ACUI_OPS_SELECT_PARAMS_H
#define ACUI_OPS_SELECT_PARAMS_H

#define ACUI_SELECT_ITEMS 8
#define ACUI_SELECT_TILE (ACUI_SELECT_ITEMS * ACUI_BLOCK)
#define ACUI_HISTOGRAM_SHARED 4096 /* most bins that a block counts by itself first, in a count for
                                    * each of its warps if there is room */
#define ACUI_HISTOGRAM_EDGES 1024  /* most bins whose edges a block keeps */

enum acui_select_what {
    ACUI_SELECT_NONZERO, /* elements that are not 0 */
    ACUI_SELECT_HEADS    /* elements that differ from the one before */
};

/* Elements are cut into `chunks` of `chunk`, whole tiles; a first launch counts in each. */
typedef struct acui_select {
    long long elements, chunk, chunks;
    int what, dtype; /* of what decides */
    int bytes;       /* of an element that is written; 0: its place, of `rank` numbers */
    int rank;
    int linear; /* all are neighbours: what decides (1), and what is written (2) */
    acui_index index; /* merged, with the strides of what decides and of what is written */
    acui_operand at[2];
    acui_index shape; /* for places: not merged */
} acui_select;

/* Counts of the elements between edges (count + 1 of them, neighbours in memory), or, without
 * edges, of the numbers 0 .. count - 1. */
typedef struct acui_histogram {
    long long elements, count, stride; /* stride: of the counts */
    double scale; /* bins to a unit, if edges are even; 0: they are searched */
    int dtype;
    int linear; /* elements are neighbours */
    acui_index index;
    acui_operand x;
} acui_histogram;

/*
 * Elements of `source` go where indices say. Each index serves `others` elements, those of the
 * other dimensions, or one if there is an index for each element. An index's key is where its
 * elements go, as an offset in the result; all ones: nowhere, it is out of range.
 */
typedef struct acui_scatter {
    long long count, others; /* count: of indices */
    int kind, dtype, bytes;  /* acu_scatter_kind; of the result */
    int key_bytes, index_bytes;
    acui_index index;   /* of the indices */
    acui_operand at[3]; /* of the result, the source and the index */
    acui_index other;
    acui_operand other_at[2];
    long long extent, along; /* of the result along the dimension: elements, stride */
} acui_scatter;

#define ACUI_BY_KEY_MOST 4096 /* keys, of which a warp has a table */
#define ACUI_BY_KEY_WARPS 32  /* of a block that joins tables */

/* Elements are cut into `parts` of `chunk`, a warp's each, for which it joins those of one key. */
typedef struct acui_by_key {
    long long elements, chunk, parts, count; /* count: of keys */
    long long stride;                        /* of the result */
    unsigned long long none;                 /* where there is no value: the bits of an element */
    int kind, dtype, key_bytes;              /* acu_scatter_kind; of the values */
    acui_index index;
    acui_operand at[2]; /* of the values and the keys */
} acui_by_key;

#endif
