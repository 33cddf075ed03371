/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stream capture: what is issued to a stream while it captures becomes nodes of a graph. A capture
 * spreads to other streams along events, and these must be joined again to the stream where it
 * began.
 */
#ifndef SOFTCUDA_DRIVER_CAPTURE_H
#define SOFTCUDA_DRIVER_CAPTURE_H

#include "driver/event.h"

/* Whether the stream captures right now. Read without a lock: whoever uses the stream knows. */
static inline bool sd_capturing(sd_stream *stream)
{
    return atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL;
}

/* Issue work to a capturing stream; from now on it belongs to the capture. A CUresult. */
unsigned sd_capture_push(sd_stream *stream, sd_work *work);

/* Make the event stand for what the capturing stream has captured so far. */
unsigned sd_capture_record(sd_stream *stream, sd_event *event);

/* Add a node that records the event or waits for it, as the EXTERNAL flags ask. A CUresult. */
unsigned sd_capture_node(sd_stream *stream, sd_event *event, unsigned type);

/* Make the stream wait for such an event, which takes the stream into the capture. */
unsigned sd_capture_wait(sd_stream *stream, sd_event *event);

/* What a question about the event answers. CAPTURED_EVENT if it stands for something in a capture;
 * if the question was whether that is reached, the capture is lost. INVALID_VALUE if that capture
 * is over or lost. */
unsigned sd_capture_ask(sd_event *event, bool reached);

/* Something that can not be captured was asked of the stream: its capture is lost. */
unsigned sd_capture_refuse(sd_stream *stream, unsigned result);
/* The result of launches and of waits for events: their failure loses the capture, while copies and
 * fills that are refused are merely not captured. */
static inline unsigned sd_capture_told(sd_stream *stream, unsigned result)
{
    return result && sd_capturing(stream) ? sd_capture_refuse(stream, result) : result;
}

/*
 * Whether a call may use the stream in this way. The legacy stream stands for the blocking streams
 * too: CAPTURE_IMPLICIT if one of those captures, which loses that capture unless the call only
 * looks. CAPTURE_UNSUPPORTED for what can not be captured, which loses the capture.
 * CAPTURE_INVALIDATED for what could be captured if the stream's capture were not lost already.
 */
unsigned sd_capture_check(sd_stream *stream, sd_use use);

/* The call waits for all of a context: if one of its streams captures, CAPTURE_UNSUPPORTED, and
 * that capture is lost. */
unsigned sd_capture_all(sd_context *context);

/*
 * Called by calls that may disturb somebody else's capture, such as allocations. Refused, and the
 * capture is lost, unless the mode of the capture or of the calling thread allows it.
 */
unsigned sd_capture_unsafe(void);
#define SD_SAFE() \
    do { \
        unsigned unsafe_ = sd_capture_unsafe(); \
        if (unsafe_) \
            return unsafe_; \
    } while (0)

/* Forget what a capture left in an event or a stream. */
void sd_captured_forget(sd_captured *captured);

#endif
