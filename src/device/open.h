/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between the table of open devices (open.c) and the creation of one (device.c). */
#ifndef ACUI_DEVICE_OPEN_H
#define ACUI_DEVICE_OPEN_H

#include "device/device.h"

/* A new device with its context, streams and pool; one reference. Blocks. */
acu_status acui_device_new(const acu_driver_table *cu, int ordinal, unsigned streams,
                           uint32_t max_in_flight, acu_device **device);

/* For reset.c: held while a device is opened, closed or reset, which takes long. */
void acui_open_lock(void);
void acui_open_unlock(void);
bool acui_is_open(acu_device *device);
acui_close_hooks acui_close_hooks_set(void);
/* A new device takes the place of `old`: it is opened once, with the same modes, and becomes the
 * default device if `old` was. */
void acui_device_replace(acu_device *old, acu_device *fresh);

/* Set the peer's bit in these bits of a device. Does nothing if another device has taken the peer's
 * place. */
void acui_device_note_peer(acu_device *peer, _Atomic(uint64_t) *bits);

/* The device is about to be destroyed: it can not be found any more. */
void acui_device_forget(acu_device *device);

#endif
