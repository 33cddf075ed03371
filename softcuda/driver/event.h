/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Events: the mark of the latest record on a stream and, for events with timing, the host time when
 * it was reached.
 */
#ifndef SOFTCUDA_DRIVER_EVENT_H
#define SOFTCUDA_DRIVER_EVENT_H

#include "driver/stream.h"

typedef struct sd_event {
    sd_object object;
    unsigned flags;
    pthread_mutex_t lock; /* guards what follows */
    bool recorded;
    sd_captured captured; /* of the latest record, if that was captured */
    sd_mark mark;         /* of the latest record */
    uint64_t time_ns;     /* when the mark was reached, by the monotonic clock */
} sd_event;

/* Record the event on the stream. Returns a CUresult. */
unsigned sd_event_record(sd_event *event, sd_stream *stream);
/* For a node of a graph: make its lane wait for the event's latest record, whatever the event
 * stands for in a capture. Returns a CUresult. */
unsigned sd_event_wait_node(sd_event *event, sd_stream *lane);

#endif
