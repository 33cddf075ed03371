/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Growing naps. */
#include "base/nap.h"

#include "base/clock.h"

#include <acuda/base.h>
#include <time.h>

/* A look costs 1 to 2 us on a GPU, which is worth it for this long. A wake-up costs some 20 us. */
#define LOOK_AT_ONCE ACU_US(30)
#define SHORTEST ACU_US(20)
#define LONGEST ACU_MS(2)

acui_nap acui_nap_start(uint64_t timeout)
{
    uint64_t now = acui_now();
    return (acui_nap){.start = now, .deadline = acui_deadline_from(now, timeout)};
}

bool acui_nap_again(acui_nap *nap)
{
    uint64_t now = acui_now();
    if (now >= nap->deadline)
        return false;
    uint64_t waited = now - nap->start;
    if (waited < LOOK_AT_ONCE)
        return true;
    uint64_t sleep = waited / 8;
    if (sleep < SHORTEST)
        sleep = SHORTEST;
    if (sleep > LONGEST)
        sleep = LONGEST;
    if (sleep > nap->deadline - now)
        sleep = nap->deadline - now;
    struct timespec t = {.tv_nsec = (long)sleep}; /* below a second */
    nanosleep(&t, NULL);                          /* a signal just makes it look earlier */
    return true;
}
