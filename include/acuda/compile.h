/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUDA C++ compiled at run time: to PTX here, or as the source of a module (kernel.h), which then
 * loads the result.
 *
 * There are two compilers: NVRTC, from CUDA's toolkit, opened where it is found; and clang, run as
 * a process, which needs no toolkit. By default acuda uses NVRTC for a GPU if it exists and is not
 * newer than the driver, else clang; for the software device it uses clang. (The licence of
 * NVIDIA's toolkit restricts translating the output of its compilers for other platforms: see
 * "Limitations" in the CUDA Toolkit End User License Agreement. What you load on the software
 * device is your choice.)
 *
 * NVRTC is looked for at `nvrtc` of the settings, else at the environment variable ACUDA_NVRTC,
 * else wherever the system finds libnvrtc.so, then in CUDA_HOME, CUDA_PATH, /usr/local/cuda*,
 * /opt/cuda; clang at `clang`, else ACUDA_CLANG, else as clang, clang-20 ... clang-14 in PATH.
 *
 * With either compiler, every source can include <acuda/device.cuh> and <acuda/tile.h>; with NVRTC
 * also the toolkit's own headers, if they stand beside it. For clang, kernels/prelude.cuh is
 * included first: threadIdx, __syncthreads, shuffles, atomics, and CUDA's mathematical functions
 * (docs/mathematics.md has their accuracy). A source may include cuda_fp16.h, cuda_bf16.h,
 * cuda_fp8.h, cooperative_groups.h (also reduce.h and scan.h of its folder), cuComplex.h and
 * math_constants.h, which are acuda's own; and cuda_runtime.h, vector_types.h, vector_functions.h,
 * device_functions.h, math_functions.h and device_launch_parameters.h, which add nothing then.
 * Other headers of the toolkit do not work with it.
 *
 * A request that equals one being compiled waits for that one. Results are kept in memory until the
 * last device is closed (bounded: the least recently used goes first), and on disk in the folder
 * that the program or ACUDA_CACHE_DIR names; nobody else's files are used, and no folder unless one
 * is named. Two requests are equal if source, options, headers, compiler and architecture are.
 * Headers are also the files that the source includes, whether by full path, from include folders,
 * from the folders in clang's CPATH and CPLUS_INCLUDE_PATH, or from /usr/local/include and
 * /usr/include, where clang always looks; the compiler's own are part of the compiler. Each file on
 * disk holds its whole request and a checksum; a file that is torn, or of another request, is
 * removed, and the source compiled anew. Since the contents of a file are run, one that another
 * user (except root) owns is treated as missing. Processes share the folder: files appear whole, by
 * renaming. Disk errors cost time only.
 */
#ifndef ACUDA_COMPILE_H
#define ACUDA_COMPILE_H

#include <acuda/device.h>

ACU_BEGIN

typedef enum acu_compiler {
    ACU_COMPILER_AUTO,
    ACU_COMPILER_NVRTC,
    ACU_COMPILER_CLANG
} acu_compiler;

typedef struct acu_header {
    const char *name; /* as in #include; a relative path without ".." */
    const char *text;
} acu_header;

/* Zero-initialise, set `size`, change what you need. If a call returns before it is done, all of it
 * has been copied. */
typedef struct acu_compile_options {
    size_t size; /* sizeof(acu_compile_options) */
    acu_compiler compiler;
    unsigned arch;      /* 90: compute_90; 0: the device's, or the newest before it that the
                         * compiler knows (clang on the software device: 75) */
    unsigned cplusplus; /* 11, 14, 17 or 20; 0: 17 */
    bool fast_math;     /* denormals become zero; division and roots are approximate; fma is used */
    bool no_fma;        /* multiplications and additions are not contracted */
    bool line_info;     /* line numbers of the source, for profilers and faults */
    unsigned max_registers; /* per thread; 0: no limit */
    const char *const *defines; /* "NAME" or "NAME=VALUE" */
    size_t define_count;
    const char *const *include_dirs;
    size_t include_dir_count;
    const acu_header *headers; /* headers in memory; found before others */
    size_t header_count;
    size_t header_stride; /* bytes from one header to the next; 0: sizeof(acu_header) */
    const char *const *arguments; /* passed to the compiler unchanged. Arguments that name files
                                   * (-I, -include) keep the result out of the caches */
    size_t argument_count;
    /* Kernels by their C++ names, templates too: "scale<float>", "mine::add". acu_kernel_get takes
     * them spelled as here. */
    const char *const *expressions;
    size_t expression_count;
    /* Receives the compiler's output, warnings and errors, cut to `log_bytes`; for calls that wait.
     * acu_code_log and acu_module_log have all of it. */
    char *log;
    size_t log_bytes;
} acu_compile_options;

typedef struct acu_code acu_code;

/*
 * Compile `source` (NUL-terminated) for `device`; if that is NULL, for options->arch.
 *
 * Blocks: tens of milliseconds and more; some microseconds if the result is in memory. Driver:
 * none. Errors: COMPILE (the first error that the compiler reports), NOT_FOUND (no compiler; says
 * where it was looked for), NOT_SUPPORTED (it is too old, or does not know the architecture),
 * INVALID, IO, NO_MEMORY.
 */
ACU_API acu_status acu_compile(acu_device *device, const char *source,
                               const acu_compile_options *options, acu_code **code);
/* All strings live as long as the code; NULL, with the thread's record set, for an invalid
 * handle. */
ACU_API const char *acu_code_ptx(const acu_code *code);
ACU_API const char *acu_code_log(const acu_code *code);      /* compiler output; may be "" */
ACU_API const char *acu_code_compiler(const acu_code *code); /* "NVRTC 13.0", "clang 14" */
/* The PTX name of one of `expressions`; NULL: it was not among them. */
ACU_API const char *acu_code_name(const acu_code *code, const char *expression);
ACU_API acu_code *acu_code_retain(acu_code *code);
ACU_API void acu_code_release(acu_code *code);

/* How the whole process compiles; each call replaces the previous settings. */
typedef struct acu_compile_settings {
    size_t size;        /* sizeof(acu_compile_settings) */
    const char *nvrtc;  /* the library's path; NULL: look for it. BUSY once another one is open */
    const char *clang;  /* the program's path; NULL: look for it */
    const char *cache_dir;    /* created if its parent exists; NULL: ACUDA_CACHE_DIR, else no
                               * folder */
    bool no_disk;             /* no folder, whatever ACUDA_CACHE_DIR says */
    uint64_t disk_bytes;      /* limit of the cache on disk; 0: 256 MiB */
    uint64_t memory_bytes;    /* limit of the cache in memory; 0: 64 MiB */
    bool no_memory;           /* keep nothing in memory */
} acu_compile_settings;
ACU_API acu_status acu_compile_configure(const acu_compile_settings *settings);
/* Drop everything kept in memory; the disk is left as it is. */
ACU_API void acu_compile_forget(void);

/* Counts since the process began. */
typedef struct acu_compile_statistics {
    size_t size;           /* sizeof(acu_compile_statistics), set by the caller */
    uint64_t compiled;     /* by a compiler, failures included */
    uint64_t from_memory, from_disk;
    uint64_t joined;       /* requests that waited for an equal request of another thread */
    uint64_t written;      /* files written */
    uint64_t dropped;      /* files that were torn or of the wrong contents */
    uint64_t disk_errors;  /* files that could not be written */
} acu_compile_statistics;
ACU_API acu_status acu_compile_stats(acu_compile_statistics *stats);

ACU_END
#endif
