/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Launches as works. A launch is checked, and its parameters are copied, when the work is made. */
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

/* Set an attribute of a launch that is a graph node; attributes that mean nothing here are ignored.
 * A CUresult. */
unsigned sd_launch_set_attribute(sd_work *work, unsigned id,
                                 const acu_CUlaunchAttributeValue *value);
unsigned sd_launch_get_attribute(const sd_work *work, unsigned id,
                                 acu_CUlaunchAttributeValue *value);
/* Take over the attributes of another launch, which this one replaces. */
void sd_launch_keep_attributes(sd_work *work, const sd_work *from);
/* Whether both launches are cooperative or neither is; works that are no launches are alike. */
bool sd_launch_is_alike(const sd_work *a, const sd_work *b, bool by_priority);
/* Whether all blocks of a cooperative launch fit on the device at once; true for other works. */
bool sd_launch_fits(const sd_work *work);

/* The name of the kernel that the work launches; NULL: it launches none. */
const char *sd_launch_kernel(const sd_work *work);

#endif
