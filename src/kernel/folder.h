/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A folder of this process's alone, for temporary files and the programs that work on them. */
#ifndef ACUI_KERNEL_FOLDER_H
#define ACUI_KERNEL_FOLDER_H

#include <acuda/status.h>
#include <limits.h>

typedef struct acui_folder {
    char path[PATH_MAX / 2];
    int spare; /* a descriptor of it: removing the folder takes one, and there may be no other then;
                * and it is locked, so that others see that the folder is in use */
} acui_folder;

/* Make a folder in TMPDIR, or /tmp, that no other user may enter. A process's first call removes
 * folders that processes of this user left there when they were killed. Errors: IO
 * (also if others could exchange the folder: base/trust.h). */
acu_status acui_folder_make(acui_folder *folder);
/* Remove the folder with everything in it. */
void acui_folder_remove(acui_folder *folder);
/* Write a file in it; folders in its name are created. Errors: IO. */
acu_status acui_folder_write(acui_folder *folder, const char *name, const void *data, size_t bytes);
/* Read a file in it. *data is the caller's, from acui_alloc, with a NUL behind it. Errors: IO,
 * NO_MEMORY. */
acu_status acui_folder_read(acui_folder *folder, const char *name, char **data, size_t *bytes);
/* ACU_OK, or why nothing can be written in the folder. Errors: IO. */
acu_status acui_folder_check(acui_folder *folder);
/* Run the program at a path with its arguments (NULL behind the last) and no input; its output goes
 * to the file `output`. Blocks. Errors: COMPILE (it ended with another status than 0), IO. */
acu_status acui_folder_run(acui_folder *folder, const char *const *args, const char *output);

#endif
