/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stacks for walks (stack.h). A thread whose stack is nearly used up goes on with another one, and
 * comes back to its own when that part of the walk is done; it remains the same thread.
 */
#include "base/stack.h"

#include "base/cache.h"
#include "base/local.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

/* Bytes: for what is called from the bottom of a walk, messages and a driver's call included, and
 * for the levels until it asks again; of one more stack, and of all that a thread gets, beyond
 * which an op is refused: one without end does not take all memory first. A million levels need
 * more than 256 MiB. Sanitizers make frames several times as large. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { NEEDED = 128 << 10, STACK = 4 << 20, ALL = 128 << 20 };
#else
enum { NEEDED = 32 << 10, STACK = 1 << 20, ALL = 512 << 20 };
#endif
enum { GUARD = 64 << 10 }; /* bytes in front of a stack that are no memory */
enum { MOST = ALL / STACK };

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

/* ---- another stack --------------------------------------------------------------------------- */

typedef struct stack {
    ucontext_t here, there;
    void (*run)(void *context);
    void *context;
    char *memory;
#if defined(__SANITIZE_ADDRESS__)
    void *fake_here;
    const void *bottom;
    size_t bytes;
#elif defined(__SANITIZE_THREAD__)
    void *fiber_here, *fiber_there;
#endif
} stack;

static ACUI_LOCAL stack *entered; /* for `begin`, which can not be given a pointer */
static ACUI_LOCAL unsigned count; /* of this thread's stacks besides its own */

/* What sanitizers are to be told: that the thread is about to leave its stack, that it is on the
 * other one, that it is about to return, and that it is back. */
static void leave(stack *s)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&s->fake_here, s->memory + GUARD, STACK);
#elif defined(__SANITIZE_THREAD__)
    s->fiber_here = __tsan_get_current_fiber();
    s->fiber_there = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(s->fiber_there, 0);
#else
    (void)s;
#endif
}

static void arrive(stack *s)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, &s->bottom, &s->bytes);
#else
    (void)s;
#endif
}

static void go_back(stack *s)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(NULL, s->bottom, s->bytes);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(s->fiber_here, 0);
#else
    (void)s;
#endif
}

static void be_back(stack *s)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(s->fake_here, NULL, NULL);
#elif defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(s->fiber_there);
#else
    (void)s;
#endif
}

static void begin(void)
{
    stack *s = entered;
    arrive(s);
    s->run(s->context);
    go_back(s);
}

static bool make(stack *s)
{
    if (count == MOST || getcontext(&s->there) != 0)
        return false;
    s->memory = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (s->memory == MAP_FAILED)
        return false;
    mprotect(s->memory, GUARD, PROT_NONE); /* else it has no guard */
    s->there.uc_stack.ss_sp = s->memory + GUARD;
    s->there.uc_stack.ss_size = STACK;
    s->there.uc_link = &s->here;
    makecontext(&s->there, begin, 0);
    return true;
}

bool acui_stack_more(void (*run)(void *context), void *context)
{
    stack s = {.run = run, .context = context};
    acui_own *own = acui_mine;
    const uintptr_t low = own->stack_low, high = own->stack_high;
    if (!make(&s))
        return false;
    count++;
    own->stack_low = (uintptr_t)s.memory + GUARD;
    own->stack_high = own->stack_low + STACK;
    entered = &s;
    leave(&s);
    swapcontext(&s.here, &s.there);
    be_back(&s);
    own->stack_low = low;
    own->stack_high = high;
    count--;
    munmap(s.memory, GUARD + STACK);
    return true;
}
