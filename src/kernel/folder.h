/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A folder of this process's alone, for files that go with it, and programs that run on them. */
#ifndef ACUI_KERNEL_FOLDER_H
#define ACUI_KERNEL_FOLDER_H

#include <acuda/status.h>
#include <limits.h>

typedef struct acui_folder {
    char path[PATH_MAX / 2];
} acui_folder;

/* In TMPDIR, or /tmp; nobody else may enter it. Errors: IO. */
acu_status acui_folder_make(acui_folder *folder);
/* With all that is in it. */
void acui_folder_remove(acui_folder *folder);
/* A file in it; folders of its name are made. Errors: IO. */
acu_status acui_folder_write(acui_folder *folder, const char *name, const void *data, size_t bytes);
/* *data is the caller's, from acui_alloc, with a NUL behind it. Errors: IO, NO_MEMORY. */
acu_status acui_folder_read(acui_folder *folder, const char *name, char **data, size_t *bytes);
/* Run a program, by its path, with its arguments (NULL behind the last), no input, and what it says
 * in the file `output`. Blocks. Errors: COMPILE (it ended with another status than 0), IO. */
acu_status acui_folder_run(acui_folder *folder, const char *const *args, const char *output);

#endif
