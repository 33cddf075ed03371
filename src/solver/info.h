/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* `info` of LAPACK's routines. */
#ifndef ACUI_SOLVER_INFO_H
#define ACUI_SOLVER_INFO_H

#include <acuda/op.h>

typedef struct acui_info_words {
    const char *name;           /* of the operation */
    const char *before, *after; /* around a positive number: what it means */
} acui_info_words;

/* An op that fails if a number in `info`, i32 on the device, is not 0. The words are static. */
acu_op *acui_info_look(const acui_info_words *words, acu_op *info, acu_site site);

#endif
