/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between the table of open devices (open.c) and the making of one (device.c). */
#ifndef ACUI_DEVICE_OPEN_H
#define ACUI_DEVICE_OPEN_H

#include "device/device.h"

/* A new device with its context, streams and pool; one reference. Blocks. */
acu_status acui_device_new(const acu_driver_table *cu, int ordinal, unsigned streams,
                           acu_device **device);

/* The device is about to go: it can not be found any more. */
void acui_device_forget(acu_device *device);

#endif
