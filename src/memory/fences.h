/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fences: what must be over before memory may be reused. Each is a signal on a stream; work that
 * comes behind it on that stream, or after it is complete, may use the memory.
 *
 * A fence does not retain its stream, since the stream would keep a device alive through the
 * device's own memory. Streams that may end before the fence are watched (acui_stream_watch), and a
 * stream that has ended counts as passed.
 */
#ifndef ACUI_MEMORY_FENCES_H
#define ACUI_MEMORY_FENCES_H

#include "device/device.h"

typedef struct acui_fence {
    acu_stream *stream;
    uint64_t number; /* possibly of a signal that is yet to be made (acui_stream_owe) */
} acui_fence;

#define ACUI_FENCES 4 /* before any memory is allocated */

typedef struct acui_fences {
    uint32_t count, room; /* room 0: in `few` */
    acui_fence *more;
    acui_fence few[ACUI_FENCES];
} acui_fences;

/* In all of these, `device` is the device of the memory, and the owner of the memory locks. */

/* Only the latest signal of each stream counts. False: no memory. */
bool acui_fences_add(acui_fences *fences, const acu_device *device, acu_stream *stream,
                     uint64_t number);
/* Whether work that `stream` gets from now on may use the memory at once; drops fences that have
 * passed. The caller holds the stream's issue lock. NULL: all must have passed. */
bool acui_fences_allow_some(acui_fences *fences, const acu_device *device, acu_stream *stream);
static inline bool acui_fences_allow(acui_fences *fences, const acu_device *device,
                                     acu_stream *stream)
{
    return fences->count == 0 || acui_fences_allow_some(fences, device, stream);
}
/* Whether nothing but what `stream` was given before may still use the memory; NULL: nothing at
 * all. Drops fences that have passed. Unlike the above, this needs no lock of the stream. */
bool acui_fences_only(acui_fences *fences, const acu_device *device, const acu_stream *stream);
/* Make the stream wait for all fences, on the device (cuStreamWaitEvent). NOT_READY: not possible,
 * because a signal is yet to be made or of another device. The stream's issue lock is held, and the
 * device entered. */
acu_status acui_fences_wait(const acui_fences *fences, const acu_device *device,
                            acu_stream *stream);
/* The fence's stream, retained, if that is possible; else NULL. */
acu_stream *acui_fence_stream(const acui_fence *fence, const acu_device *device);
void acui_fences_clear(acui_fences *fences, const acu_device *device);

static inline const acui_fence *acui_fences_list(const acui_fences *fences)
{
    return fences->room ? fences->more : fences->few;
}

#endif
