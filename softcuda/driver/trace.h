/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SOFTCUDA_TRACE: a text file with what the program called and what streams ran, in their order.
 * It has no times, and addresses are told by how far they are into their memory, so that the traces
 * of two equal runs are equal.
 */
#ifndef SOFTCUDA_DRIVER_TRACE_H
#define SOFTCUDA_DRIVER_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_stream;
struct sd_work;

/* Begin to write; "%p" in the name stands for the process. False, with a sentence on why. */
bool sd_trace_open(const char *name, char *why, size_t bytes);

/* Whether there is a trace. Constant once the driver is started. */
bool sd_trace_on(void);

/* One line; a line feed is added. Nothing without a trace. */
__attribute__((format(printf, 1, 2))) void sd_trace(const char *format, ...);

/* An address in words that are the same in each run: of which memory, and how far into that. */
typedef struct sd_spot {
    char text[40];
} sd_spot;
sd_spot sd_spot_of(uint64_t address);

/* The stream begins with the work. */
void sd_trace_step(const struct sd_stream *stream, const struct sd_work *work);

#endif
