/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading a whole file. */
#ifndef ACUI_KERNEL_FILE_H
#define ACUI_KERNEL_FILE_H

#include <acuda/status.h>

/* Read a file to *data, which is the caller's, from acui_alloc, with a NUL behind it. Errors: IO
 * (path and reason), NO_MEMORY. */
acu_status acui_file_read(const char *path, char **data, size_t *bytes);
/* The same, but only if the file is this user's or root's, and nobody else can write to it; else
 * IO. Whoever can write to its folder can still exchange it (base/trust.h). */
acu_status acui_file_read_own(const char *path, char **data, size_t *bytes);

#endif
