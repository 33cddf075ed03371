/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every call, as the software device does it; clockwork.c has its own of some. */
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
