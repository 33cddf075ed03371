/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a compiler made: PTX, what it said, and names. */
#ifndef ACUI_KERNEL_CODE_H
#define ACUI_KERNEL_CODE_H

#include "base/object.h"
#include "kernel/bytes.h"

#include <acuda/compile.h>

/* One block of bytes, as it stands in files too: compiler, log, PTX, pairs of names. */
struct acu_code {
    acui_object object;
    acui_bytes bytes;
    const char *compiler, *log, *ptx; /* in it */
    size_t ptx_length;
    uint64_t name_count;
    size_t names; /* where they begin in it */
};

/* Takes the bytes, also on failure. NULL: they are not what they should be (no record), or no
 * memory (NO_MEMORY in *status, which is else left as it is). */
acu_code *acui_code_new(acui_bytes *bytes, acu_status *status);
/* The expression whose name in PTX this is; NULL: of none. */
const char *acui_code_expression(const acu_code *code, const char *name);
/* The first line of the log that says what is wrong, with what follows; never empty where that is
 * not. */
const char *acui_log_first_error(const char *log);

#endif
