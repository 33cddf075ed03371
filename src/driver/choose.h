/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The process's driver, once chosen: for those who describe it. */
#ifndef ACUI_DRIVER_CHOOSE_H
#define ACUI_DRIVER_CHOOSE_H

#include "driver/load.h"

typedef struct acui_chosen {
    acui_library library;
    acu_driver_info info;
    char why[1024];     /* why this driver and not another */
    char failure[1024]; /* before a choice: what stood in the way of the last open; "" before one */
} acui_chosen;

/* Call `look` with the state while no open is under way; `done`: a driver is chosen. */
void acui_chosen_look(void (*look)(const acui_chosen *chosen, bool done, void *user), void *user);

/* Detail on the last fault from the chosen driver; "" where it gives none. */
const char *acui_driver_detail(void);

#endif
