/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A request to compile: the source, the options, the compiler, and the key under which the result
 * is found again in the caches.
 */
#ifndef ACUI_KERNEL_REQUEST_H
#define ACUI_KERNEL_REQUEST_H

#include "base/arena.h"
#include "kernel/bytes.h"
#include "kernel/code.h"

#include <acuda/compile.h>

typedef struct acui_request {
    const char *what;   /* for messages, and the source's name */
    const char *source; /* without a byte order mark */
    acu_compile_options options; /* what they point to is borrowed */
    bool nvrtc;         /* else clang */
    unsigned arch;      /* the architecture that is wanted */
    bool exact;         /* ... by the program: no other is allowed */
    bool keep;          /* the key contains all that the result depends on: it may be kept */
    acui_bytes key;
    acui_hash hash;
} acui_request;

/* Read and check options as a program gives them; `waits`: for a call that may wait. Errors:
 * INVALID, NOT_SUPPORTED. */
acu_status acui_compile_options_read(acu_compile_options *known, const acu_compile_options *given,
                                     bool waits, const char *function);
/* Copy the options, with all that they point to, into the arena. False: no memory. */
bool acui_compile_options_copy(acui_arena *arena, const acu_compile_options *options,
                               acu_compile_options *copy);

/* Choose the compiler and make the key; the caller must call acui_request_end in any case. `device`
 * may be NULL. Errors: NOT_FOUND (no compiler), INVALID, NO_MEMORY. */
acu_status acui_request_begin(acui_request *request, const acu_device *device, const char *what,
                              const char *source, const acu_compile_options *options);
void acui_request_end(acui_request *request);

/* ---- includes.c ---- */
/* Put the files that the source includes from the include folders into the key; false: they can not
 * be told. */
bool acui_request_put_includes(acui_request *request);

/* ---- compiled.c ---- */
/* Get the code from the caches, or compile it. On failure *code is set too, with the log, if a
 * compiler was asked. Blocks. */
acu_status acui_compile(const acui_request *request, acu_code **code);
void acui_compile_set_memory(uint64_t limit); /* limit in bytes; 0: nothing is kept */
/* Count one more in a field of acu_compile_statistics. */
void acui_compile_count(size_t field);
#define ACUI_COMPILE_COUNT(name) acui_compile_count(offsetof(acu_compile_statistics, name))

/* ---- disk.c ---- */
acu_status acui_disk_set(const char *folder, uint64_t limit); /* NULL: no folder */
/* NULL: it is not on disk. */
acu_code *acui_disk_read(const acui_request *request);
void acui_disk_write(const acui_request *request, const acu_code *code);
/* The same of any bytes. False: they are not on disk; *found is to be freed in any case. */
bool acui_disk_get(const acui_bytes *key, acui_bytes *found);
void acui_disk_put(const char *what, const acui_bytes *key, const void *data, size_t bytes);
void acui_disk_drop(const acui_bytes *key); /* it is of no use */

/* ---- nvrtc.c, clang.c ---- */
/* Set the path from `acu_compile_configure`; NULL: none was given. BUSY, NO_MEMORY. */
acu_status acui_nvrtc_set(const char *path);
acu_status acui_clang_set(const char *path);
/* Find the compiler, and put its identity into `key`, unless that is NULL. NOT_FOUND: the thread's
 * record says where it was looked for. */
acu_status acui_nvrtc_find(acui_bytes *key, int *version);
acu_status acui_clang_find(acui_bytes *key);
/* Compile. *bytes get what code.h says; on failure the log, too. Blocks. */
acu_status acui_nvrtc_compile(const acui_request *request, acui_bytes *bytes);
acu_status acui_clang_compile(const acui_request *request, acui_bytes *bytes);

/* The library's own headers, as text: X(name of the array, name for #include, whether NVRTC gets
 * it). */
#define ACUI_HEADERS(X)                                                                            \
    X(device, "acuda/device.cuh", 1) X(tile, "acuda/tile.h", 1)                                    \
    X(prelude, "acuda-prelude/prelude.cuh", 0) X(math, "acuda-prelude/math.cuh", 0)               \
    X(math_f64, "acuda-prelude/math_f64.cuh", 0) X(math_more, "acuda-prelude/math_more.cuh", 0)    \
    X(math_bessel, "acuda-prelude/math_bessel.cuh", 0) X(more, "acuda-prelude/more.cuh", 0)        \
    X(runtime, "acuda-cuda/cuda_runtime.h", 0) X(runtime, "acuda-cuda/vector_types.h", 0)          \
    X(runtime, "acuda-cuda/vector_functions.h", 0)                                                 \
    X(runtime, "acuda-cuda/device_launch_parameters.h", 0)                                         \
    X(runtime, "acuda-cuda/device_functions.h", 0) X(runtime, "acuda-cuda/math_functions.h", 0)    \
    X(acuda_halves, "acuda-cuda/acuda_halves.h", 0) X(cuda_fp16, "acuda-cuda/cuda_fp16.h", 0)      \
    X(cuda_bf16, "acuda-cuda/cuda_bf16.h", 0) X(cuda_fp8, "acuda-cuda/cuda_fp8.h", 0)              \
    X(cooperative_groups, "acuda-cuda/cooperative_groups.h", 0)                                    \
    X(reduce, "acuda-cuda/cooperative_groups/reduce.h", 0)                                         \
    X(reduce, "acuda-cuda/cooperative_groups/scan.h", 0)                                           \
    X(reduce, "acuda-cuda/cooperative_groups/memcpy_async.h", 0)                                   \
    X(math_constants, "acuda-cuda/math_constants.h", 0)                                            \
    X(cuComplex, "acuda-cuda/cuComplex.h", 0)
#define ACU_X(array, name, nvrtc)                                                                  \
    extern const unsigned char acui_header_##array[];                                              \
    extern const unsigned acui_header_##array##_bytes;
ACUI_HEADERS(ACU_X)
#undef ACU_X
/* They are packed. The text of one, in memory of the arena; NULL: no memory (request.c). */
const char *acui_header_text(acui_arena *arena, const unsigned char *packed, size_t bytes);

/* Header `i` of the options; the program says how far these are apart. */
static inline const acu_header *acui_header_at(const acu_compile_options *options, size_t i)
{
    size_t stride = options->header_stride ? options->header_stride : sizeof(acu_header);
    return (const acu_header *)(const void *)((const char *)options->headers + i * stride);
}

#endif
