/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A script of faults, read; faults.h says what it looks like. */
#ifndef SOFTCUDA_DRIVER_FAULT_SCRIPT_H
#define SOFTCUDA_DRIVER_FAULT_SCRIPT_H

#include "driver/faults.h"

#include <stdatomic.h>
#include <stdint.h>

typedef enum sd_fault_place {
    SD_FAULT_CALL,
    SD_FAULT_KERNEL,
    SD_FAULT_WORK,
    SD_FAULT_DEVICE,
} sd_fault_place;

struct sd_fault {
    sd_fault *next;
    sd_fault_place place;
    char name[64];   /* of the call ("cuMemAlloc"), kernel or kind of work */
    int device;      /* SD_FAULT_DEVICE */
    uint64_t nth;    /* from 1 */
    bool on;         /* and all behind it */
    unsigned result; /* a CUresult */
    bool late;
    char text[128]; /* as it was written */
    _Atomic uint64_t count; /* of such places so far */
};

/* The script as a list, in its order. False, with a sentence on why; what was read is freed. */
bool sd_script_read(const char *script, sd_fault **faults, char *why, size_t bytes);

#endif
