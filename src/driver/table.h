/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The two tables: what the driver has, and what is handed out. */
#ifndef ACUI_DRIVER_TABLE_H
#define ACUI_DRIVER_TABLE_H

#include <acuda/driver.h>

/*
 * The driver's own functions, NULL where it has none. Written by acu_driver_open under its lock
 * until the driver is chosen (the release store of the chosen table publishes it), fixed from then.
 */
extern acu_driver_table acui_raw;

/* Whether the driver that was chosen has the call, by its field's name. */
#define ACUI_HAS(name) (acui_raw.name != NULL)

/* The public table: counting, fault injection, and an answer for what is missing. */
extern const acu_driver_table acui_table;

#endif
