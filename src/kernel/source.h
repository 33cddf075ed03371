/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a module's code comes from, and having it loaded. */
#ifndef ACUI_KERNEL_SOURCE_H
#define ACUI_KERNEL_SOURCE_H

#include "kernel/kernel.h"

/* Who wants to know of a load; all may be NULL. */
typedef struct acui_load_watch {
    bool (*given_up)(void *context); /* before it begins: nobody wants it any more */
    /* It ended; `fault` (borrowed) may be NULL for lack of memory. On the loader's thread. */
    void (*ended)(void *context, acu_status status, acui_fault *fault);
    void *context;
} acui_load_watch;

/*
 * Begin to load a module, which may be used at once (kernel.h). What the source points to is
 * copied, unless it is built in. Never blocks. Errors: INVALID, BUSY (the name), NO_MEMORY,
 * WOULD_BLOCK; then nobody is told.
 */
acu_status acui_load_begin(acu_device *device, const acu_module_source *source, bool built_in,
                           const acui_load_watch *watch, acu_module **module);
/* What a program gives, checked; options to compile go into *compile.
 * `waits`: for a call that does. */
acu_status acui_source_read(acu_module_source *source, acu_compile_options *compile,
                            acu_device *device, const acu_module_source *given, bool waits,
                            const char *function);

#endif
