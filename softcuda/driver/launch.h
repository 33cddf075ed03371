/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Launches as works. */
#ifndef SOFTCUDA_DRIVER_LAUNCH_H
#define SOFTCUDA_DRIVER_LAUNCH_H

#include "driver/module.h"
#include "driver/stream.h"

/* What a launch asks for. */
typedef struct sd_request {
    unsigned grid[3], block[3];
    size_t dynamic;
    bool cooperative;
    void **params, **extra;
} sd_request;

/* Check the launch and make its work, with a copy of the parameters. A CUresult. */
unsigned sd_launch_make(sd_function *function, const sd_request *request, sd_work **work);

/* The name of the kernel that the work launches; NULL: it launches none. */
const char *sd_launch_kernel(const sd_work *work);

#endif
