/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting by polling: first without pause, then after naps that grow with the time waited so far,
 * so that a short wait ends promptly and a long one does not occupy a core.
 */
#ifndef ACUI_BASE_NAP_H
#define ACUI_BASE_NAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct acui_nap {
    uint64_t start, deadline; /* of acui_now() */
} acui_nap;

acui_nap acui_nap_start(uint64_t timeout);
/* Sleep a while; false, without sleeping, once the timeout has passed. */
bool acui_nap_again(acui_nap *nap);

#endif
