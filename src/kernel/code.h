/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a compiler made: PTX, its messages, and names. */
#ifndef ACUI_KERNEL_CODE_H
#define ACUI_KERNEL_CODE_H

#include "base/object.h"
#include "kernel/bytes.h"

#include <acuda/compile.h>

/* One block of bytes, the same in memory and in files: compiler, log, PTX, pairs of names. */
struct acu_code {
    acui_object object;
    acui_bytes bytes;
    const char *compiler, *log, *ptx; /* pointers into it */
    size_t ptx_length;
    uint64_t name_count;
    size_t names; /* offset where they begin */
};

/* Takes the bytes, also on failure. NULL: they are damaged (no record), or there is no memory
 * (NO_MEMORY in *status, which is otherwise left as it is). */
acu_code *acui_code_new(acui_bytes *bytes, acu_status *status);
/* The expression whose name in PTX this is; NULL: it is no expression's. */
const char *acui_code_expression(const acu_code *code, const char *name);
/* The first line of the log that reports an error, and what follows it. Not empty unless the log
 * is. */
const char *acui_log_first_error(const char *log);
bool acui_log_has_error(const char *log);
/* Keeps the log of what was not compiled for acu_last_log, and releases it. NULL: there is none. */
void acui_code_refused(acu_code *code);

#endif
