/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writing text into the program's memory, and ops as text. */
#ifndef ACUI_OP_PRINT_H
#define ACUI_OP_PRINT_H

#include "op/op.h"

typedef struct acui_out {
    char *text;    /* ends in 0 whenever there is room for that */
    size_t room;
    size_t needed; /* bytes for all that was written, without the 0 */
} acui_out;

void acui_print(acui_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void acui_print_quoted(acui_out *out, const char *text); /* escaped for DOT's quotes */

/* Write what the op is composed of, in lines or (`dot`) as a graph. NO_MEMORY. */
acu_status acui_print_op(acui_out *out, acu_op *op, bool dot);

#endif
