/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parking on a word, with Linux's futex. */
#include "base/park.h"

#include <acuda/base.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void acui_park(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline)
{
    int kept = errno; /* the library leaves no errors of its own in errno */
    struct timespec t = {.tv_sec = (time_t)(deadline / 1000000000u),
                         .tv_nsec = (long)(deadline % 1000000000u)};
    /* Unlike plain FUTEX_WAIT, the variant with a bit set takes a point in time of the monotonic
     * clock. */
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, deadline == ACU_FOREVER ? NULL : &t,
            NULL, FUTEX_BITSET_MATCH_ANY);
    errno = kept;
}

static void wake(_Atomic(uint32_t) *word, int most)
{
    int kept = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most);
    errno = kept;
}

void acui_unpark(_Atomic(uint32_t) *word)
{
    wake(word, INT_MAX);
}

void acui_unpark_one(_Atomic(uint32_t) *word)
{
    wake(word, 1);
}
