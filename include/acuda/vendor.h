/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Libraries of others, mostly NVIDIA's, that operations of acuda call: which were found where, and
 * which to use.
 *
 * acuda links none of them, needs none to build, and ships nothing of them. One is looked for when
 * an operation that calls it is first submitted to a device, by one of acuda's threads: operations
 * submitted meanwhile wait for it on the host, but submitting does not. The first of these places
 * that has a library of a version that acuda can use, and that is not newer than the driver:
 *
 *   1. the `path` in the settings (acu_vendor_configure), else the library's environment variable,
 *      such as ACUDA_CUBLAS, which may also be "off": then nowhere else; or "required", see below
 *   2. what the process has loaded already, by PyTorch for example
 *   3. pip's packages (nvidia-cublas, onnxruntime, ...) in VIRTUAL_ENV and in CONDA_PREFIX, and
 *      CONDA_PREFIX's own folders
 *   4. CUDA_HOME, CUDA_PATH, /usr/local/cuda*, /opt/cuda
 *   5. wherever the system looks for libraries
 *
 * A folder that the environment names counts only if it belongs to root or to the process's user
 * and is not writable by everybody; a program that runs with somebody else's privileges reads no
 * environment. On the software device NVIDIA's libraries can not run, so only a library that the
 * program names is used there. onnxruntime (infer.h) and TurboJPEG (jpeg.h) are none of NVIDIA's:
 * they run there too.
 *
 * Who uses a library accepts its licence: of cuBLAS, cuFFT, cuSPARSE, cuSOLVER, NPP and nvJPEG
 * NVIDIA's for the CUDA Toolkit, of cuDNN NVIDIA's for that; NCCL has an open one. The headers of
 * those that are not NVIDIA's name theirs.
 *
 * Where a library is missing, operations that need it fail with NOT_FOUND, and say where it was
 * looked for. What acuda has kernels for, too (matrix products, Fourier transforms, much of dnn.h),
 * is done by these, and nvJPEG's work by TurboJPEG, which may take several times as long: unless
 * the library is required, by the settings or its variable; then such operations fail as well.
 *
 * A library is opened once for the process and never closed. What acuda makes of it (handles,
 * plans) it makes on its own threads, with temporary memory of its own, and gives it back with the
 * device. After acu_device_reset a library that was in use on the device is not used again, because
 * it still refers to the context that went.
 */
#ifndef ACUDA_VENDOR_H
#define ACUDA_VENDOR_H

#include <acuda/device.h>

ACU_BEGIN

/* X(identifier, name, environment variable, package of pip for CUDA 13, or of Debian). New ones
 * come last: their numbers are compiled into programs. */
#define ACU_VENDORS(X)                                                                             \
    X(CUBLAS, "cuBLAS", "ACUDA_CUBLAS", "nvidia-cublas")                                           \
    X(CUBLASLT, "cuBLASLt", "ACUDA_CUBLASLT", "nvidia-cublas")                                     \
    X(CUFFT, "cuFFT", "ACUDA_CUFFT", "nvidia-cufft")                                               \
    X(CUSPARSE, "cuSPARSE", "ACUDA_CUSPARSE", "nvidia-cusparse")                                   \
    X(CUSOLVER, "cuSOLVER", "ACUDA_CUSOLVER", "nvidia-cusolver")                                   \
    X(CUDNN, "cuDNN", "ACUDA_CUDNN", "nvidia-cudnn-cu13")                                          \
    X(NPPIG, "NPP's geometry (libnppig)", "ACUDA_NPPIG", "nvidia-npp")                             \
    X(NPPIDEI, "NPP's copies (libnppidei)", "ACUDA_NPPIDEI", "nvidia-npp")                         \
    X(ONNXRUNTIME, "onnxruntime", "ACUDA_ONNXRUNTIME", "onnxruntime")                              \
    X(NCCL, "NCCL", "ACUDA_NCCL", "nvidia-nccl-cu13")                                              \
    X(NVJPEG, "nvJPEG", "ACUDA_NVJPEG", "nvidia-nvjpeg")                                           \
    X(TURBOJPEG, "TurboJPEG", "ACUDA_TURBOJPEG", "libturbojpeg0")

typedef enum acu_vendor {
#define ACU_X(id, name, variable, package) ACU_VENDOR_##id,
    ACU_VENDORS(ACU_X)
#undef ACU_X
    ACU_VENDOR_COUNT
} acu_vendor;

/* How the whole process uses a library; each call replaces the previous settings. They apply to
 * operations submitted from then on; `path` applies to devices on which the library is not in use
 * yet. */
typedef struct acu_vendor_settings {
    size_t size;      /* sizeof(acu_vendor_settings) */
    bool off;         /* do not use it */
    const char *path; /* the library's file; NULL: look for it. BUSY once another one is open */
    bool required;    /* where it is missing, nothing else does its work */
} acu_vendor_settings;
/* Never blocks for long: while a thread looks for the library, it waits. Errors: INVALID (there is
 * no such library, the path is too long, off and required), BUSY, ARGUMENTS (the size). */
ACU_API acu_status acu_vendor_configure(acu_vendor vendor, const acu_vendor_settings *settings);

/*
 * Open the library for the device now, so that no operation waits for it, or to learn why it is not
 * used. Blocks, the first time, while it is opened. Driver: what the library calls. Errors:
 * INVALID, NOT_FOUND (it is switched off; or the places where it was looked for), NOT_SUPPORTED,
 * DRIVER, DEVICE_MEMORY (what the library says, with its name for the status), NO_MEMORY,
 * IN_CALLBACK in a callback.
 */
ACU_API acu_status acu_vendor_load(acu_device *device, acu_vendor vendor);

/* The name ("cuBLAS"; "?" for a number that is none); the version of the library that is open,
 * 130002 for 13.0.2 (0: none is open; 20000: TurboJPEG, which does not say more); and its file, as
 * a static string (NULL: none is open). Never block. */
ACU_API const char *acu_vendor_name(acu_vendor vendor);
ACU_API int acu_vendor_version(acu_vendor vendor);
ACU_API const char *acu_vendor_path(acu_vendor vendor);

/*
 * One line for each library: its version and its file; or that it is off; or where it was looked
 * for in vain, what was too old, too new or incomplete there, and what to install. Looks for
 * libraries, and opens what it finds, as the operations would on a GPU. Writes at most `bytes`, a
 * final zero included, and returns how many the whole text has without it. Blocks.
 */
ACU_API size_t acu_vendor_report(char *text, size_t bytes);

ACU_END
#endif
