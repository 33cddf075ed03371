/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stream capture: while a stream captures, what is issued to it becomes nodes of a graph. A capture
 * spreads to other streams along events, and has to come back to where it began.
 */
#ifndef SOFTCUDA_DRIVER_CAPTURE_H
#define SOFTCUDA_DRIVER_CAPTURE_H

#include "driver/event.h"

/* Whether the stream captures right now; looked at without a lock, as its user knows. */
static inline bool sd_capturing(sd_stream *stream)
{
    return atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL;
}

/* Work that is issued to a capturing stream; belongs to the capture from now on. A CUresult. */
unsigned sd_capture_push(sd_stream *stream, sd_work *work);

/* The event stands for what the capturing stream has captured so far. */
unsigned sd_capture_record(sd_stream *stream, sd_event *event);

/* A node that records the event or waits for it: what the EXTERNAL flags ask for. A CUresult. */
unsigned sd_capture_node(sd_stream *stream, sd_event *event, unsigned type);

/* The stream waits for such an event, which takes it into the capture. */
unsigned sd_capture_wait(sd_stream *stream, sd_event *event);

/* Somebody asks about the event: CAPTURED_EVENT, if it stands for something in a capture, which is
 * lost if it was asked whether that was reached; INVALID_VALUE if that capture is over or lost. */
unsigned sd_capture_ask(sd_event *event, bool reached);

/* Something that cannot be captured was asked of the stream: its capture is lost. */
unsigned sd_capture_refuse(sd_stream *stream, unsigned result);
/* What launches and waits for events answer: by their failure a capture is lost, while copies and
 * fills that are refused are just not captured. */
static inline unsigned sd_capture_told(sd_stream *stream, unsigned result)
{
    return result && sd_capturing(stream) ? sd_capture_refuse(stream, result) : result;
}

/*
 * Whether a call may use the stream so. The legacy stream stands for the blocking ones too:
 * CAPTURE_IMPLICIT if one of them captures, whose capture is lost unless it was only looked at.
 * CAPTURE_UNSUPPORTED for what cannot be captured, and the capture is lost; CAPTURE_INVALIDATED
 * for what could be, if the stream's capture is lost already.
 */
unsigned sd_capture_check(sd_stream *stream, sd_use use);

/* All of a context is waited for: CAPTURE_UNSUPPORTED if one of its streams captures, and lost. */
unsigned sd_capture_all(sd_context *context);

/*
 * Called by what may disturb a capture of somebody else, as allocating does. Refused, and the
 * capture lost, unless the capture or the calling thread is in a mode that allows it.
 */
unsigned sd_capture_unsafe(void);
#define SD_SAFE() \
    do { \
        unsigned unsafe_ = sd_capture_unsafe(); \
        if (unsafe_) \
            return unsafe_; \
    } while (0)

/* Forget what a capture left with an event or a stream. */
void sd_captured_forget(sd_captured *captured);

#endif
