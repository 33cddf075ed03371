/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sleeping until a word in memory changes, without a lock. Only the thread that sleeps and the
 * thread that wakes it enter the kernel.
 */
#ifndef ACUI_BASE_PARK_H
#define ACUI_BASE_PARK_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleep while *word is `seen`, until woken or until `deadline` (of acui_now; ACU_FOREVER: none).
 * May also return for no reason: the caller looks again. */
void acui_park(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline);
/* Wake all threads that sleep on the word; change it first. */
void acui_unpark(_Atomic(uint32_t) *word);
/* Wake one of them. The word's memory may be freed by now. */
void acui_unpark_one(_Atomic(uint32_t) *word);

/* Between two looks at memory that another core writes. */
static inline void acui_spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
