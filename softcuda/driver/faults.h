/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SOFTCUDA_FAULTS: a script of what goes wrong where.
 *
 *     LaunchKernel#3=illegal-address; MemAllocAsync#2=out-of-memory; kernel:step=trap; copy#4=ecc
 *
 * Each line, or what stands between semicolons, is PLACE=RESULT. A place is
 *
 *     NAME          a call, cuNAME or NAME, of whatever version
 *     kernel:NAME   the launch of a kernel, by whatever call, when it runs
 *     KIND          a work of a stream, when it runs: one of SD_FAULT_KINDS, or "work" for any
 *     device:N      a work of any stream of device N, when it runs; takes all contexts of it along
 *
 * followed by #3 for the third one of the process, #3+ for the third and all behind it, #* for all;
 * without, it is the first. A result is one of SD_FAULT_ALIASES, or the name of any of CUDA's, as
 * "out-of-memory" or "CUDA_ERROR_OUT_OF_MEMORY". Those of SD_LATE_FAULTS come late: the call
 * succeeds, and its context is lost when the work that it issued comes to run; or at once, if it
 * issues none. All others are the call's own, which does nothing else then. Works fail late only.
 */
#ifndef SOFTCUDA_DRIVER_FAULTS_H
#define SOFTCUDA_DRIVER_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* X(kind): names of works, as traces have them, with hyphens. */
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

/* X(CUDA's result): those that end a context. */
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

/* False, with a sentence on why. */
bool sd_faults_read(const char *script, char *why, size_t bytes);

/* Whether there is a script. Constant once the driver is started. */
bool sd_faults_on(void);

/* The call begins, and ends. Not 0: it is to do nothing but return this. */
unsigned sd_faults_begin(const char *symbol);
void sd_faults_end(void);

/* This thread issues the work: it takes the late fault of its call along, if there is one. */
void sd_faults_mark(struct sd_work *work);

/* The work comes to run: NULL, or what it fails with, which is then to strike. */
const sd_fault *sd_faults_meet(const struct sd_stream *stream, const struct sd_work *work);
void sd_faults_strike(const sd_fault *fault, struct sd_stream *stream, const struct sd_work *work);

#endif
