/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The process's driver, once it is chosen: for code that describes it. */
#ifndef ACUI_DRIVER_CHOOSE_H
#define ACUI_DRIVER_CHOOSE_H

#include "driver/load.h"

typedef struct acui_chosen {
    acui_library library;
    acu_driver_info info;
    char why[1024];     /* why this driver and not another */
    char failure[1024]; /* until one is chosen: why the last open failed; "" before that */
} acui_chosen;

/* Call `look` with the state while no open is in progress; `done`: a driver is chosen. */
void acui_chosen_look(void (*look)(const acui_chosen *chosen, bool done, void *user), void *user);

/* The chosen driver's detail on the last fault; "" if it gives none. */
const char *acui_driver_detail(void);

#endif
