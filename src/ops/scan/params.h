/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/scan.cu. Include ops/params.h first. */
#ifndef ACUI_OPS_SCAN_PARAMS_H
#define ACUI_OPS_SCAN_PARAMS_H

#define ACUI_SCAN_ITEMS 16 /* of a thread in a tile */
#define ACUI_SCAN_PACK 4   /* of them, that are read at once where rows are dense */
#define ACUI_SCAN_TILE (ACUI_SCAN_ITEMS * ACUI_BLOCK)

enum acui_scan_kind { ACUI_SCAN_SUM, ACUI_SCAN_PROD, ACUI_SCAN_MAX, ACUI_SCAN_MIN };

/* Rows are cut into `chunks` of `chunk` elements, whole tiles unless columns are meant; if there
 * are several, a first launch writes the total of each. */
typedef struct acui_scan {
    acui_lines rows; /* 0: the result, 1: x */
    long long chunk, chunks;
    int kind, dtype, out_dtype;
    int even; /* rows begin at whole vectors, as far as strides tell */
    unsigned long long turn; /* of integers, for maxima and minima: bits to flip */
} acui_scan;

/* The same for a scan by an expression (by.c), whose kernel is made of text. `identity`: the bits
 * of a float or double, or of two doubles. */
#define ACUI_SCAN_BY_ITEMS 8 /* of a thread in a tile */
#define ACUI_SCAN_BY_TYPE                                                                          \
    typedef struct acui_scan_by {                                                                  \
        acui_lines rows;                                                                           \
        long long chunk, chunks;                                                                   \
        unsigned long long identity[2];                                                            \
        int exclusive;                                                                             \
    } acui_scan_by;
ACUI_SCAN_BY_TYPE

#endif
