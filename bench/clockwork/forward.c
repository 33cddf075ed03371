/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every driver call, forwarded to the software device. The symbols are weak: clockwork.c replaces
 * some of them.
 */
#include "real.h"

#include <acuda/driver_calls.h>

#define FORWARD(name, symbol, since, effect, kind, parameters, arguments) \
    __attribute__((weak, visibility("default"))) unsigned symbol parameters; \
    unsigned symbol parameters \
    { \
        CLOCKWORK_REAL(symbol, parameters) \
        return real arguments; \
    }
ACU_DRIVER_CALLS(FORWARD)
