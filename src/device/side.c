/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Streams for branches: the device's own, lent while a submission is issued. */
#include "device/device.h"

size_t acui_side_take(acu_device *device, acu_stream **streams, size_t wanted)
{
    size_t n = 0, make = 0;
    pthread_mutex_lock(&device->lock);
    while (n < wanted && device->side_count > 0)
        streams[n++] = device->side[--device->side_count];
    while (n + make < wanted && device->side_made < ACUI_SIDE_STREAMS) {
        device->side_made++;
        make++;
    }
    pthread_mutex_unlock(&device->lock);
    size_t made = 0;
    while (made < make && acui_stream_open(device, 0, true, &streams[n]) == ACU_OK) {
        made++;
        n++;
    }
    if (made < make) {
        pthread_mutex_lock(&device->lock);
        device->side_made -= make - made;
        pthread_mutex_unlock(&device->lock);
    }
    return n;
}

void acui_side_give(acu_device *device, acu_stream *const *streams, size_t count)
{
    pthread_mutex_lock(&device->lock);
    for (size_t i = 0; i < count; i++)
        device->side[device->side_count++] = streams[i];
    pthread_mutex_unlock(&device->lock);
}
