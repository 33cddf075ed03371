/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a device has of a library: handles, or plans for one shape. Making one takes long and
 * blocks, so the loader's threads do it; a thread that issues a call takes one that is free. A
 * device keeps them until it ends, except plans that were not used for the longest time where there
 * are many. Of a library whose plans are shared, there is one of each, and handles besides.
 */
#ifndef ACUI_VENDOR_HANDLES_H
#define ACUI_VENDOR_HANDLES_H

#include "memory/access.h"
#include "vendor/library.h"

typedef struct acui_handles acui_handles;

/* The device's handles for the key (`bytes` of it; 0: the library has only one kind), of which the
 * first is being made, unless it was before. The caller holds them until acui_handles_drop. Never
 * blocks. Errors: NO_MEMORY, FULL; NOT_FOUND, with the library's refusal. */
acu_status acui_handles_of(acui_library *library, acu_device *device, const void *key,
                           size_t bytes, acui_handles **handles);
void acui_handles_hold(acui_handles *handles); /* once more; the caller holds them */
void acui_handles_drop(acui_handles *handles); /* NULL is fine */
/* The same of a library of one kind, if they were asked for; else NULL. Not held: they stay as long
 * as the device. */
acui_handles *acui_handles_peek(const acui_library *library, acu_device *device);
bool acui_handles_ready(const acui_handles *handles); /* the first one is there */
/* The point that is pending while the first one is made, which whoever holds them holds. NULL: it
 * is there, or never will be. */
acui_point *acui_handles_behind(const acui_handles *handles);
void acui_handles_wait(acui_handles *handles); /* until that is NULL; blocks */
/* OK: the first one is there. Else the record of why not. Not while it is being made. */
acu_status acui_handles_status(const acui_handles *handles);
/* One for this thread alone, until it is given back. Only if the first one is there. May wait for
 * another thread to give one back, which it does when its call is made. */
void *acui_handles_take(acui_handles *handles);
void acui_handles_give(acui_handles *handles, void *handle);
/* This thread is about to capture a stream for a call that takes one of them, or has done so: one
 * is kept for it meanwhile, if the first is there. Nothing may be waited for then, as a driver may
 * let nobody load a module while a stream is captured, which making a handle does. Of handles for
 * plans, one of those that plans are run with. */
void acui_handles_capturing(acui_handles *handles, bool begins);

/* Where what has a key is shared: one of the device's handles, for this thread alone until it is
 * given back to *from. On a thread of the loader, with the device entered: where none is free, it
 * is made here. Elsewhere, acui_handles_take. */
acu_status acui_handles_borrow(acui_library *library, acu_device *device, acui_handles **from,
                               void **handle);

#endif
