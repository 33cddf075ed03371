/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading the facts about a device. */
#ifndef ACUI_DEVICE_INFO_H
#define ACUI_DEVICE_INFO_H

#include "device/device.h"

/* Fill device->info, except for the ordinal (known) and the priorities, which need a context. */
acu_status acui_device_read_info(acu_device *device);

#endif
