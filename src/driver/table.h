/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The two tables: the driver's functions, and the table that acuda hands out. */
#ifndef ACUI_DRIVER_TABLE_H
#define ACUI_DRIVER_TABLE_H

#include <acuda/driver.h>

/*
 * The driver's own functions, NULL where it has none. acu_driver_open writes them under its lock
 * until the driver is chosen; the release store of the chosen table publishes them, and they are
 * fixed from then on.
 */
extern acu_driver_table acui_raw;

/* Whether the chosen driver has the call, given the name of its field. */
#define ACUI_HAS(name) (acui_raw.name != NULL)

/* The public table: adds counting and fault injection, and answers calls that the driver lacks. */
extern const acu_driver_table acui_table;

#endif
