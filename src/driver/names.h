/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The list of entry points as data, for code that iterates over all of them. */
#ifndef ACUI_DRIVER_NAMES_H
#define ACUI_DRIVER_NAMES_H

#include <acuda/driver.h>

typedef struct acui_call {
    const char *name, *symbol;
    int since;
    size_t offset; /* of its pointer in acu_driver_table */
} acui_call;

typedef struct acui_older {
    acu_driver_call call;
    const char *symbol;
    int since;
} acui_older;

extern const acui_call acui_calls[ACU_CALL_COUNT];
extern const acui_older acui_older_symbols[]; /* ACU_DRIVER_OLDER_SYMBOLS */
extern const size_t acui_older_count;

bool acui_call_valid(acu_driver_call call);

#endif
