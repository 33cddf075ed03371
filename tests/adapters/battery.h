/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What every adapter for an event loop must do, tested once for all: loop_<name>.c says how its
 * loop is driven, by the real library.
 */
#ifndef ACUDA_TESTS_ADAPTERS_BATTERY_H
#define ACUDA_TESTS_ADAPTERS_BATTERY_H

#include <acuda/adapters/loop.h>

#include "support/support.h"

typedef struct loop_kind {
    const char *name;
    const char *(*open)(void); /* NULL, or why this loop can not be had here */
    void (*close)(void);
    acu_status (*start)(acu_queue *queue, const acu_loop_options *options, void **adapter);
    void (*stop)(void *adapter);
    void (*submitted)(void *adapter); /* NULL: the loop sees for itself that work was submitted */
    /* From now on battery_readable is called in the loop while the descriptor can be read. */
    void (*watch)(int fd);
    void (*unwatch)(void);
    /* battery_idle is called in the loop again and again, behind all else; NULL: it has no
     * priorities. */
    void (*idle)(bool on);
    bool own_wait; /* the program waits by itself: there is no busy-poll */
    /* One turn: sleeps until there is something, if it is to block. `adapter` may be NULL. */
    void (*turn)(void *adapter, bool block);
} loop_kind;

void battery_readable(void);
void battery_idle(void);
int battery_run(const loop_kind *kind);

#endif
