/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a module's code comes from, and how it is loaded. */
#ifndef ACUI_KERNEL_SOURCE_H
#define ACUI_KERNEL_SOURCE_H

#include "kernel/kernel.h"

/* Who wants to know about a load; all fields may be NULL. */
typedef struct acui_load_watch {
    bool (*given_up)(void *context); /* asked before the load begins: nobody wants it any more */
    /* Called when the load has ended, on the loader's thread. `fault` (borrowed) may be NULL for
     * lack of memory. */
    void (*ended)(void *context, acu_status status, acui_fault *fault);
    void *context;
} acui_load_watch;

/*
 * Begin to load a module, which may be used at once (kernel.h). What the source points to is
 * copied, unless the module is built in. Never blocks. Errors: INVALID, BUSY (the name), NO_MEMORY,
 * FULL; after these nobody is told, and the source's user data has been released.
 */
acu_status acui_load_begin(acu_device *device, const acu_module_source *source, bool built_in,
                           const acui_load_watch *watch, acu_module **module);
/* Read and check a source that a program gives; its options to compile go to *compile. `waits`: for
 * a call that may wait. On failure its user data has been released. */
acu_status acui_source_read(acu_module_source *source, acu_compile_options *compile,
                            acu_device *device, const acu_module_source *given, bool waits,
                            const char *function);
/* Release its user data, when nothing will come of it. */
void acui_source_drop(const acu_module_source *source);

#endif
