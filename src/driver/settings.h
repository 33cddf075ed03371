/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the program and its user want: options and environment variables combined. */
#ifndef ACUI_DRIVER_SETTINGS_H
#define ACUI_DRIVER_SETTINGS_H

#include "driver/load.h"

typedef struct acui_settings {
    bool explicit_request; /* exactly `origin` is wanted; else a GPU, or what is allowed */
    bool program_request;  /* the request came from the program, not from the user */
    acui_origin origin;
    const char *path;       /* for ACUI_PATH; borrowed from the options or the environment */
    const char *asked_by;   /* in words: "the program", "ACUDA_DRIVER" */
    const char *allowed_by; /* who allows the software device, in words; NULL: nobody */
    int max_version;        /* 0: no limit */
} acui_settings;

/* Errors: INVALID, NOT_SUPPORTED, with a message. */
acu_status acui_settings_read(const acu_driver_options *given, acui_settings *settings);

#endif
