/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between the order locks (point.c) and the lists under them (access.c). */
#ifndef ACUI_MEMORY_ORDER_H
#define ACUI_MEMORY_ORDER_H

#include "memory/access.h"

/* A number that was not there before in the process; never 0. Called with the locks of these homes
 * held. */
uint64_t acui_order_turn(acui_homes homes);
/* Whether this thread holds the locks of all of these. */
bool acui_order_holds(acui_homes homes);

#endif
