/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events: a mark on a stream, and for those with timing the host time at which it was reached. */
#ifndef SOFTCUDA_DRIVER_EVENT_H
#define SOFTCUDA_DRIVER_EVENT_H

#include "driver/stream.h"

typedef struct sd_event {
    sd_object object;
    unsigned flags;
    pthread_mutex_t lock; /* what follows */
    bool recorded;
    sd_captured captured; /* of the latest record, if that was captured */
    sd_mark mark;         /* of the latest record */
    uint64_t time_ns;     /* when that was reached, on the monotonic clock */
} sd_event;

/* Record it on the stream, or make the stream wait for its latest record. CUresults. */
unsigned sd_event_record(sd_event *event, sd_stream *stream);
unsigned sd_event_wait(sd_event *event, sd_stream *stream);
/* The same for a node of a graph: what the event stands for in a capture does not count. */
unsigned sd_event_wait_node(sd_event *event, sd_stream *lane);

#endif
