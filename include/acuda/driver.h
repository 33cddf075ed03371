/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The CUDA driver that acuda runs on: which one was chosen and why, and its entry points, for calls
 * that acuda does not wrap. Needs neither CUDA's headers nor linking with libcuda.
 *
 *     const acu_driver_table *cu;
 *     if (acu_driver_open(NULL, &cu) == ACU_OK) {
 *         int bytes;
 *         unsigned result =
 *             cu->DeviceGetAttribute(&bytes, ACU_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0);
 *         ...
 *     }
 *
 * A process uses one driver. The first acu_driver_open chooses it; programs that do not call that
 * themselves get it from acu_open. In order of preference:
 *
 *   1. The driver that was explicitly asked for: by the program in `request`, else by the user in
 *   the environment variable ACUDA_DRIVER. "gpu" is the system's libcuda.so.1, "software" the
 *   built-in software device, and anything with a slash the path of a driver library. If that
 *   driver can not be used, the open fails.
 *   2. Otherwise the system's libcuda.so.1, if it exists and has a device.
 *   3. Otherwise the software device, but only if the program (`allow_software`) or the user
 *   (ACUDA_ALLOW_SOFTWARE=1) allows it.
 *
 * The system counts as having no device if libcuda.so.1 is missing, cuInit answers
 * CUDA_ERROR_NO_DEVICE, or the device count is 0. Every other failure of an existing driver is an
 * error and never a reason to fall back: a broken GPU driver must not turn into a slow program.
 *
 * Entry points are resolved one by one, by name, together with the CUDA version that introduced
 * them. Nothing newer than CUDA 11.4 is needed. A call that the driver does not have answers
 * CUDA_ERROR_NOT_SUPPORTED; acu_driver_has tells beforehand. ACUDA_DRIVER_MAX=11.4 in the
 * environment, or `max_version`, hides newer entry points, so that a program can be tested as on an
 * older driver.
 *
 * Every function here may be called from any thread. Only acu_driver_open blocks, and
 * acu_driver_describe while another thread is in acu_driver_open.
 */
#ifndef ACUDA_DRIVER_H
#define ACUDA_DRIVER_H

#include <acuda/base.h>
#include <acuda/driver_abi.h>
#include <acuda/driver_calls.h>
#include <acuda/status.h>

ACU_BEGIN

/* ---- the table ------------------------------------------------------------------------------ */

/*
 * The entry points, under CUDA's names without "cu": cu->StreamCreate is cuStreamCreate. CUDA's
 * documentation says what they do, whether they block, and what they return (a CUresult; 0 is
 * success). Calls go through counting and fault injection (debug.h), at the cost of one load while
 * neither is in use. If a call has versions with suffixes, driver_calls.h says which one this is.
 */
typedef struct acu_driver_table {
#define ACU_DRIVER_FIELD(name, symbol, since, effect, kind, params, args) unsigned(*name) params;
    ACU_DRIVER_CALLS(ACU_DRIVER_FIELD)
#undef ACU_DRIVER_FIELD
} acu_driver_table;

/* The same entry points as numbers: ACU_CALL_StreamCreate. */
typedef enum acu_driver_call {
    ACU_CALL_ANY = -1, /* for counting and fault injection (debug.h): any call */
#define ACU_DRIVER_NUMBER(name, symbol, since, effect, kind, params, args) ACU_CALL_##name,
    ACU_DRIVER_CALLS(ACU_DRIVER_NUMBER)
#undef ACU_DRIVER_NUMBER
    ACU_CALL_COUNT
} acu_driver_call;

/* ---- choosing ------------------------------------------------------------------------------- */

/* Zero-initialise, set `size`, change what you need. */
typedef struct acu_driver_options {
    size_t size;         /* sizeof(acu_driver_options) */
    const char *request; /* "gpu", "software", or a path with a slash; NULL: see above */
    bool allow_software; /* without a GPU, use the software device */
    int max_version;     /* hide entry points newer than this (11040: CUDA 11.4); 0: none */
} acu_driver_options;

/*
 * Choose the driver, load it and start it, unless that is done already, and give its table in
 * *table (`table` may be NULL). `options` NULL: all defaults. Once a driver is chosen, further
 * opens give the same table whatever they allow, unless they explicitly ask for another driver. An
 * open that fails leaves nothing chosen, and can be tried again.
 *
 * Blocks: the first time, while the driver starts (a fifth of a second on a GPU), and while another
 * thread does that. Driver: cuDriverGetVersion, cuInit, cuDeviceGetCount. Retains no context.
 * Errors: NO_DRIVER (what was looked for, what was found, and what would allow the software
 * device), DRIVER (an existing driver fails), NOT_SUPPORTED (a driver older than CUDA 11.4),
 * INVALID (a malformed option or environment variable), BUSY (another driver is in use), FORKED (in
 * the child of a process that had opened a driver).
 */
ACU_API acu_status acu_driver_open(const acu_driver_options *options,
                                   const acu_driver_table **table);

/* The table of the chosen driver; NULL before one is chosen. Static: valid as long as the
 * process. */
ACU_API const acu_driver_table *acu_driver(void);

typedef struct acu_driver_info {
    size_t size;       /* of this struct, in the library */
    bool software;     /* a software device, built in or as a stand-in for libcuda.so.1 */
    int version;       /* CUDA version of the driver: 12040 is 12.4 */
    int max_version;   /* entry points newer than this are hidden; 0: none */
    int devices;
    int calls;         /* entry points that can be called, of ACU_CALL_COUNT */
    const char *path;  /* of the library; NULL for the software device that is built in */
} acu_driver_info;

/* Facts about the chosen driver, fixed by the open; NULL before one is chosen. Static. */
ACU_API const acu_driver_info *acu_driver_info_of(void);

/*
 * A few lines of text: which driver, its library and version, why this one and not another, which
 * entry points it lacks, and what acuda does without them. If none is chosen, or the open failed:
 * what stood in the way. Written as by snprintf: cut to `size` bytes, terminated if size > 0;
 * returns the length of the whole.
 */
ACU_API size_t acu_driver_describe(char *buffer, size_t size);

/* Whether the chosen driver has the call. False before one is chosen, and for an invalid number. */
ACU_API bool acu_driver_has(acu_driver_call call);

/* "cuMemAlloc_v2" for ACU_CALL_MemAlloc; "?" for an invalid number. */
ACU_API const char *acu_driver_call_name(acu_driver_call call);
/* The CUDA version that introduced the call: 12040 for cuFuncGetParamInfo; 0 for an invalid
 * number. */
ACU_API int acu_driver_call_since(acu_driver_call call);
/* By exported name ("cuMemAlloc_v2") or field name ("MemAlloc"); ACU_CALL_ANY: not listed. */
ACU_API acu_driver_call acu_driver_call_find(const char *name);

/* "CUDA_ERROR_OUT_OF_MEMORY" for 2; "CUDA_ERROR_?" for an unknown number. Static strings. */
ACU_API const char *acu_driver_result_name(unsigned result);

ACU_END
#endif
