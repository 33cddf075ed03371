/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SOFTCUDA_TRACE: a text file with what the program called and what the streams ran, in order. It
 * has no times, and addresses are written as offsets into their allocation, so that two equal runs
 * have equal traces.
 */
#ifndef SOFTCUDA_DRIVER_TRACE_H
#define SOFTCUDA_DRIVER_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sd_stream;
struct sd_work;

/*
 * Open the file that a variable of the environment names, to write lines to it; "%p" in the name
 * stands for the process id. NULL: a sentence says why.
 */
FILE *sd_file_open(const char *variable, const char *name, char *why, size_t bytes);

/* Begin to write; "%p" in the name stands for the process id. False: a sentence says why. */
bool sd_trace_open(const char *name, char *why, size_t bytes);

/* Whether there is a trace. Constant once the driver is started. */
bool sd_trace_on(void);

/* Write one line; adds a line feed. Does nothing without a trace. */
__attribute__((format(printf, 1, 2))) void sd_trace(const char *format, ...);

/* An address in terms that are the same in each run: the allocation, and the offset into it. */
typedef struct sd_spot {
    char text[40];
} sd_spot;
sd_spot sd_spot_of(uint64_t address);

/* The stream starts the work. */
void sd_trace_step(const struct sd_stream *stream, const struct sd_work *work);

#endif
