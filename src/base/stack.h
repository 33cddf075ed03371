/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much of its stack a thread has left, for walks that recurse as deep as a program's ops nest;
 * and another one, on which they go on. */
#ifndef ACUI_BASE_STACK_H
#define ACUI_BASE_STACK_H

#include <stdbool.h>

/* Less is left than a walk needs below it. False where that is not known: on a stack that is not
 * the thread's own, as coroutines have. */
bool acui_stack_is_short(void);
/* Call the function on another stack, as the same thread; the caller's is short. False: there is no
 * memory for one, or the thread has got 128 MiB of them, and nothing was called. */
bool acui_stack_more(void (*run)(void *context), void *context);

#endif
