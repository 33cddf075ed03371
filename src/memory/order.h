/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between the order lock (point.c) and the lists under it (access.c). */
#ifndef ACUI_MEMORY_ORDER_H
#define ACUI_MEMORY_ORDER_H

#include "memory/access.h"

/* A number that changes each time that the lock is taken; never 0 while it is held. */
uint64_t acui_order_turn(void);

#endif
