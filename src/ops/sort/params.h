/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/sort.cu. Include ops/params.h first. */
#ifndef ACUI_OPS_SORT_PARAMS_H
#define ACUI_OPS_SORT_PARAMS_H

#define ACUI_SORT_SHORT 2048       /* longest row that a block sorts by itself */
#define ACUI_SORT_DIGITS 256       /* of a byte */
#define ACUI_SORT_THREADS 512      /* of a block that moves elements of a longer one */
#define ACUI_SORT_AT_ONCE 2        /* such blocks on a multiprocessor, at least */
#define ACUI_SORT_TILE_BYTES 32768 /* of elements of 4 or 8 bytes: shorter ones take 4 */
#define ACUI_SORT_PAIRS_BYTES 45056 /* of a tile of pairs: 11 for each thread */

/* Longer rows are sorted by one byte of the elements after the other; what is between lies in one
 * workspace, at these bytes. An element's order is that of its bits as an integer, where `real` of
 * what acui_real_key makes of them, with the bits of `turn` turned around. */
typedef struct acui_sort {
    acui_lines rows;  /* 0: the result, 1: x */
    int dtype, bytes; /* of x; of an element, one for each pass */
    int descending, real;
    int places;                 /* the result is i64, the places in the row */
    int pairs;                  /* which move in pairs with keys of at most 32 bits */
    int from_x, to_out;         /* these are dense, and need no copy */
    int pass;                   /* the byte of the keys */
    unsigned long long turn, sign, infinite, all; /* of as many bits as an element has */
    long long tiles, parts;     /* of a row; blocks that share it to count */
    long long key[2], place[2]; /* before and after a pass, and the other way round */
    long long starts, turns, shown[2]; /* digits' places; blocks that began; counts of tiles */
    long long cleared;          /* bytes, from starts on */
    long long first, part;      /* of the first of a row: how many, dense; elements of a part */
    long long found, counted;   /* each row's key, and counts of parts */
} acui_sort;

#endif
