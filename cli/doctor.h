/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The checks of `acuda doctor`, and how they report. */
#ifndef ACUDA_CLI_DOCTOR_H
#define ACUDA_CLI_DOCTOR_H

#include "cli.h"

typedef enum doctor_state { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_FAIL } doctor_state;

/* What the checks know: of the command line, and of each other. */
typedef struct doctor {
    const char *driver; /* --driver */
    const char *root;   /* in front of /dev and /proc; "" */
    int report;         /* descriptor for what is found; of the parent */
    acu_device *device; /* the one that is being checked; NULL: none could be opened */
    int devices;
    bool has_compiler;
} doctor;

/* A check has begun: if the process ends now, it is to blame. */
void doctor_begin(const doctor *d, const char *name);
/* One finding. NOTE: acuda works, but something is missing or slow. `advice` may be "". */
void doctor_find(const doctor *d, const char *name, doctor_state state, const char *advice,
                 const char *format, ...) ACU_PRINTF(5, 6);
/* The finding that the thread's error record stands for. */
void doctor_find_error(const doctor *d, const char *name, doctor_state state, const char *advice);

/* In doctor_system.c: the driver, and what the system lets a process do. */
bool doctor_driver(doctor *d); /* false: no device can be opened */
void doctor_system(doctor *d);
/* In doctor_device.c: opens each device and tries things on it; then the compilers. */
void doctor_devices(doctor *d);
void doctor_compilers(doctor *d);

#endif
