/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writing text into a program's memory, and ops as text. */
#ifndef ACUI_OP_PRINT_H
#define ACUI_OP_PRINT_H

#include "op/op.h"

typedef struct acui_out {
    char *text;    /* always ends in 0, if there is room for that */
    size_t room;
    size_t needed; /* for all that was written, without the 0 */
} acui_out;

void acui_print(acui_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void acui_print_quoted(acui_out *out, const char *text); /* for inside of DOT's quotes */

/* What the op is composed of; `dot`: as a graph. NO_MEMORY. */
acu_status acui_print_op(acui_out *out, acu_op *op, bool dot);

#endif
