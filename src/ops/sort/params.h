/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/sort.cu. Include ops/params.h first. */
#ifndef ACUI_OPS_SORT_PARAMS_H
#define ACUI_OPS_SORT_PARAMS_H

#define ACUI_SORT_ITEMS 16                            /* of a thread */
#define ACUI_SORT_TILE (ACUI_SORT_ITEMS * ACUI_BLOCK) /* elements that a block moves */
#define ACUI_SORT_SHORT 2048                          /* longest row that a block sorts by itself */
#define ACUI_SORT_DIGITS 256

/* Keys are integers of 32 or 64 bits whose order is the elements'. Longer rows are sorted by one
 * byte of the keys after the other; what is between lies in one workspace, at these bytes. */
typedef struct acui_sort {
    acui_lines rows;  /* 0: the result, 1: x */
    int dtype, bytes; /* of x; of an element */
    int descending;
    int places;                       /* the result is i64, the places in the row */
    int pass;                         /* the byte of the keys */
    long long tiles;                  /* of a row */
    long long key[2], place[2];       /* before and after a pass, and the other way round */
    long long counts, counters, sums; /* counters: how many counts there are */
} acui_sort;

#endif
