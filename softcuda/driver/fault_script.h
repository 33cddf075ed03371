/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The parsed form of a script of faults. faults.h describes the text. */
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
    char name[64];   /* of a call ("cuMemAlloc"), a kernel or a kind of work */
    int device;      /* SD_FAULT_DEVICE */
    uint64_t nth;    /* counted from 1 */
    bool on;         /* from the nth on */
    unsigned result; /* a CUresult */
    bool late;
    char text[128]; /* as written in the script */
    _Atomic uint64_t count; /* how many such places there were so far */
};

/* Parse the script to a list, in its order. False: a sentence says why, and nothing is left to
 * free. */
bool sd_script_read(const char *script, sd_fault **faults, char *why, size_t bytes);

#endif
