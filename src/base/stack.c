/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/stack.h"

#include "base/cache.h"
#include "base/local.h"

#include <pthread.h>

/* Bytes: for what is called from the bottom of a walk, messages and a driver's call included, and
 * for the levels until it asks again. Sanitizers make frames several times as large. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { NEEDED = 128 << 10 };
#else
enum { NEEDED = 32 << 10 };
#endif

/* Asking the system takes up to 50 us, so a thread does that once. Without an answer it remembers
 * an empty stack. */
static void find(acui_own *own)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    own->stack_known = true;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        own->stack_low = (uintptr_t)low;
        own->stack_high = (uintptr_t)low + bytes;
    }
    pthread_attr_destroy(&attributes);
}

bool acui_stack_is_short(void)
{
    acui_own *own = acui_mine;
    if (!own)
        return false;
    if (!own->stack_known)
        find(own);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here >= own->stack_low && here < own->stack_high && here - own->stack_low < NEEDED;
}
