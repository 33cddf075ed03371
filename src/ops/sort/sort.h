/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What sort.c and first.c share: launches of kernels/sort.cu. */
#ifndef ACUI_OPS_SORT_H
#define ACUI_OPS_SORT_H

#include "ops/ops.h"

#include "ops/sort/params.h"

#include <acuda/sort.h>

enum { ACUI_SORT_BUSY = 2048 }; /* as many blocks as keep a GPU busy */

typedef struct acui_sorting {
    acu_planning *p;
    const char *name;
    acui_sort params;
    int key; /* bytes of an element in the workspace: 4 or 8 */
} acui_sorting;

/* Sets what follows from dtype and order. */
void acui_sorting_init(acui_sorting *s, acu_dtype dtype, acu_sort_order order);

/* Bytes, rounded up so that anything may follow. */
static inline int64_t acui_sorting_aligned(int64_t bytes)
{
    return acui_parts(bytes, 16) * 16;
}

/* Launches `what`, with the bytes of `key` in its name if that is not 0: on the workspace, and
 * others to read and to write, or NULL. Consumes all and yields them; returns the workspace. */
acu_op *acui_sorting_step(const acui_sorting *s, const char *what, int key, int64_t blocks,
                          int threads, acu_op *work, acu_op **x, acu_op **out);

/* The places of the first `count` elements of each row (the last dimension, which is longer), in
 * no order but that equal ones are in theirs. */
acu_op *acui_first_places(acu_op *x, int64_t count, acu_sort_order order, acu_site site);

#endif
