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
    const char *(*open)(void); /* NULL, or why this loop is not available here */
    void (*close)(void);
    acu_status (*start)(acu_queue *queue, const acu_loop_options *options, void **adapter);
    void (*stop)(void *adapter);
    void (*submitted)(void *adapter); /* NULL: the loop notices by itself that work was submitted */
    /* From now on the loop calls battery_readable while the descriptor is readable. */
    void (*watch)(int fd);
    void (*unwatch)(void);
    /* The loop calls battery_idle again and again, at the lowest priority; NULL: it has no
     * priorities. */
    void (*idle)(bool on);
    bool own_wait; /* the program waits by itself: there is no busy-poll */
    /* One turn of the loop; with `block`, it sleeps until there is something. `adapter` may be
     * NULL. */
    void (*turn)(void *adapter, bool block);
} loop_kind;

void battery_readable(void);
void battery_idle(void);
int battery_run(const loop_kind *kind);

#endif
