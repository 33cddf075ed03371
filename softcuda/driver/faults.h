/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SOFTCUDA_FAULTS: a script of what goes wrong, and where.
 *
 *     LaunchKernel#3=illegal-address; MemAllocAsync#2=out-of-memory; kernel:step=trap; copy#4=ecc
 *
 * Each line, or each part between semicolons, is PLACE=RESULT. A place is
 *
 *     NAME          a call, cuNAME or NAME, in any version
 *     kernel:NAME   a launch of that kernel, by any call, when it runs
 *     KIND          a work of a stream, when it runs: one of SD_FAULT_KINDS, or "work" for any
 *     device:N      a work of any stream of device N, when it runs; the device and its contexts
 *                   are lost
 *
 * followed by #3 for the third one in the process, #3+ for the third and all that follow, or #* for
 * all; with nothing it is the first. A result is one of SD_FAULT_ALIASES or any of CUDA's names, as
 * "out-of-memory" or "CUDA_ERROR_OUT_OF_MEMORY". Those in SD_LATE_FAULTS come late: the call
 * succeeds, and its context is lost when the work that it issued is about to run, or at once if it
 * issues none. All others are returned by the call itself, which then does nothing else. Works can
 * only fail late.
 */
#ifndef SOFTCUDA_DRIVER_FAULTS_H
#define SOFTCUDA_DRIVER_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* X(kind): names of works as in traces, with hyphens. */
#define SD_FAULT_KINDS(X) \
    X("launch") \
    X("copy") \
    X("fill") \
    X("allocation") \
    X("free") \
    X("host-function") \
    X("event-record") \
    X("value-write") \
    X("value-wait") \
    X("work")

/* X(CUDA's result): results that end a context. */
#define SD_LATE_FAULTS(X) \
    X(ACU_CUDA_ERROR_ECC_UNCORRECTABLE) \
    X(ACU_CUDA_ERROR_NVLINK_UNCORRECTABLE) \
    X(ACU_CUDA_ERROR_CONTAINED) \
    X(ACU_CUDA_ERROR_ILLEGAL_ADDRESS) \
    X(ACU_CUDA_ERROR_LAUNCH_TIMEOUT) \
    X(ACU_CUDA_ERROR_ASSERT) \
    X(ACU_CUDA_ERROR_HARDWARE_STACK_ERROR) \
    X(ACU_CUDA_ERROR_ILLEGAL_INSTRUCTION) \
    X(ACU_CUDA_ERROR_MISALIGNED_ADDRESS) \
    X(ACU_CUDA_ERROR_INVALID_ADDRESS_SPACE) \
    X(ACU_CUDA_ERROR_INVALID_PC) \
    X(ACU_CUDA_ERROR_LAUNCH_FAILED) \
    X(ACU_CUDA_ERROR_TENSOR_MEMORY_LEAK) \
    X(ACU_CUDA_ERROR_EXTERNAL_DEVICE) \
    X(ACU_CUDA_ERROR_UNKNOWN)

/* X(name, CUDA's result) */
#define SD_FAULT_ALIASES(X) \
    X("trap", ACU_CUDA_ERROR_LAUNCH_FAILED) \
    X("misaligned", ACU_CUDA_ERROR_MISALIGNED_ADDRESS) \
    X("timeout", ACU_CUDA_ERROR_LAUNCH_TIMEOUT) \
    X("ecc", ACU_CUDA_ERROR_ECC_UNCORRECTABLE) \
    X("lost", ACU_CUDA_ERROR_UNKNOWN)

struct sd_stream;
struct sd_work;
typedef struct sd_fault sd_fault;

/* Read the script. False: a sentence says why. */
bool sd_faults_read(const char *script, char *why, size_t bytes);

/* Whether there is a script. Constant once the driver is started. */
bool sd_faults_on(void);

/* A call begins; it ends. If begin is not 0, the call must do nothing but return it. */
unsigned sd_faults_begin(const char *symbol);
void sd_faults_end(void);

/* This thread issues the work, which takes over the late fault of its call, if there is one. */
void sd_faults_mark(struct sd_work *work);

/* The work is about to run. Not NULL: the fault that is to strike now. */
const sd_fault *sd_faults_meet(const struct sd_stream *stream, const struct sd_work *work);
void sd_faults_strike(const sd_fault *fault, struct sd_stream *stream, const struct sd_work *work);

#endif
