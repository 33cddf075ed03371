/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Running a part of a test in a thread with a small stack: what needs a level of the stack for each
 * of very many things ends the process. */
#ifndef TEST_SMALL_STACK_H
#define TEST_SMALL_STACK_H

#include "support/support.h"

#include <pthread.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_SMALL_STACK = 512 << 10 }; /* bytes; frames are larger there */
#else
enum { TEST_SMALL_STACK = 64 << 10 };
#endif

static inline void test_in_small_stack(void *(*run)(void *), void *user)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, TEST_SMALL_STACK);
    assert_int_equal(pthread_create(&thread, &attributes, run, user), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

#endif
