/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Modules and kernels: loaded code, and the functions in it that a launch names.
 */
#ifndef ACUDA_KERNEL_H
#define ACUDA_KERNEL_H

#include <acuda/compile.h>
#include <acuda/device.h>
#include <acuda/tensor.h>

ACU_BEGIN

typedef struct acu_module acu_module;
typedef struct acu_kernel acu_kernel;

/*
 * Where the code of a module comes from: one of `ptx`, `image`, `path` and `cuda`. With a `name` the module
 * can be found again by acu_kernel_find; NULL: not. A name that a living module of the device has is
 * refused (BUSY), and one that begins with "acuda." too (INVALID).
 */
typedef struct acu_module_source {
    size_t size;       /* sizeof(acu_module_source) */
    const char *name;
    const char *ptx;   /* PTX text, NUL-terminated */
    const void *image; /* a cubin, fat binary or PTX in memory, of so many bytes */
    size_t bytes;
    const char *path;  /* a file that holds one of these */
    const char *cuda;  /* CUDA C++, to be compiled (compile.h), */
    const acu_compile_options *compile; /* ... so; NULL: with all defaults */
} acu_module_source;

/*
 * Load a module on `device`. acu_module_load_async (future.h) does it without blocking.
 *
 * Blocks: while the driver compiles (0.1 s for the first PTX of a process on a GPU). All kernels
 * are resolved here, so that no launch ever loads code. Driver: cuModuleLoadDataEx,
 * cuModuleGetFunction, cuFuncGetAttribute, cuFuncGetParamInfo.
 * Errors: PTX (the driver's log, with the line, is in the record), those of acu_compile, IO (the
 * file), NOT_SUPPORTED, BUSY, INVALID, DRIVER.
 */
ACU_API acu_status acu_module_load(acu_device *device, const acu_module_source *source,
                                   acu_module **module);
/* The same for one source each. The software device refuses cubins. */
ACU_API acu_status acu_module_load_ptx(acu_device *device, const char *name, const char *ptx,
                                       acu_module **module);
ACU_API acu_status acu_module_load_file(acu_device *device, const char *name, const char *path,
                                        acu_module **module);
ACU_API acu_status acu_module_load_image(acu_device *device, const char *name, const void *image,
                                         size_t bytes, acu_module **module);
ACU_API acu_module *acu_module_retain(acu_module *module);
ACU_API void acu_module_release(acu_module *module); /* its kernels keep it as long as they live */

/*
 * A module exists before it is loaded: acu_future_module gives it at once, and so does
 * acu_kernel_find of built-in kernels. Meanwhile its kernels can be had, declared and launched;
 * submitting never waits. Launches wait on the host, as behind other work, until the load has ended.
 * What can be checked against the device and a declared signature is checked when they are submitted,
 * the rest before they are issued, in the same words; then the submission fails, or with the load's
 * own error (what the compiler said included) if that failed.
 *
 * acu_module_poll, acu_kernel_poll: ACU_OK, NOT_READY while it is being loaded, else why it failed
 * (of a kernel also: NOT_FOUND, ARGUMENTS where it was declared wrongly). Never block.
 * acu_module_wait, acu_kernel_wait: until then. Block; errors also: TIMEOUT, WOULD_WAIT.
 */
ACU_API acu_status acu_module_poll(acu_module *module);
ACU_API acu_status acu_module_wait(acu_module *module, uint64_t timeout);
/* What the compiler said of a module's CUDA C++: warnings, and errors where it failed. NULL while it
 * is being loaded, "" if nothing. Lives as long as the module. */
ACU_API const char *acu_module_log(acu_module *module);

/* A kernel of the module. Never blocks, but on an old driver (before CUDA 12.4) for a cubin. Errors:
 * NOT_FOUND (with the names that the module has, where known), that of a load that failed. */
ACU_API acu_status acu_kernel_get(acu_module *module, const char *name, acu_kernel **kernel);
/*
 * A kernel of a module that was loaded under a name on `device`. Modules named "acuda.<family>" are
 * acuda's own built-in kernels, which are there on every device: the first one of a family that is
 * asked for begins the family's load, and the device keeps it. Never blocks.
 */
ACU_API acu_status acu_kernel_find(acu_device *device, const char *module, const char *kernel_name,
                                   acu_kernel **kernel);
ACU_API acu_status acu_kernel_poll(acu_kernel *kernel);
ACU_API acu_status acu_kernel_wait(acu_kernel *kernel, uint64_t timeout);

/*
 * What the kernel's parameters are, beyond the sizes that acuda learns by itself: one word each,
 * separated by commas, a dtype for a scalar ("f32"), "in f32", "out f32" or "inout f32" for a
 * pointer to elements of a tensor, "tile f32" for a tile of a partition, "any" for no check.
 * Launches then check dtypes and directions too. Example: "tile f32, f32, in f32". Of a kernel
 * whose parameters are not known this tells what they are; declare such a kernel before other
 * threads use it.
 * Errors: INVALID (with the word), ARGUMENTS (the count or a size differs from the kernel's).
 */
ACU_API acu_status acu_kernel_declare(acu_kernel *kernel, const char *signature);

typedef struct acu_kernel_info {
    const char *name;
    bool params_known;     /* false for a cubin on a driver older than CUDA 12.4 */
    size_t param_count;    /* 0 where not known */
    unsigned max_threads;  /* of a block, for this kernel */
    size_t static_shared;  /* bytes */
    size_t local_bytes;    /* of a thread */
    int registers;         /* of a thread */
} acu_kernel_info;
/* NULL, 0 and NULL as long as the kernel is not loaded. */
ACU_API const acu_kernel_info *acu_kernel_info_of(const acu_kernel *kernel);
ACU_API size_t acu_kernel_param_bytes(const acu_kernel *kernel, size_t index); /* 0: not known */
ACU_API acu_device *acu_kernel_device(const acu_kernel *kernel); /* borrowed */
ACU_API CUfunction acu_kernel_raw(const acu_kernel *kernel);
ACU_API acu_kernel *acu_kernel_retain(acu_kernel *kernel);
ACU_API void acu_kernel_release(acu_kernel *kernel);

/*
 * How a kernel is launched. A grid of zeros comes from the launch's partitions; a block of zeros
 * is 256 threads in x, or the kernel's maximum if that is less; grid y and z, block y and z of
 * zero count as one where x is set.
 */
typedef struct acu_config {
    unsigned grid[3], block[3];
    size_t shared; /* dynamic shared memory, bytes; more than 48 KiB is opted into by itself */
} acu_config;
#ifdef __cplusplus
#define ACU_GRID_BLOCK(gx, gy, gz, bx, by, bz)                                                     \
    (acu_config{{(unsigned)(gx), (unsigned)(gy), (unsigned)(gz)},                                  \
                {(unsigned)(bx), (unsigned)(by), (unsigned)(bz)}, 0})
#else
#define ACU_GRID_BLOCK(gx, gy, gz, bx, by, bz)                                                     \
    ((acu_config){.grid = {(unsigned)(gx), (unsigned)(gy), (unsigned)(gz)},                        \
                  .block = {(unsigned)(bx), (unsigned)(by), (unsigned)(bz)}})
/* ACU_BLOCK(4, 4): the block; the grid comes from the partitions. */
#define ACU_BLOCK(...) ((acu_config){.block = {__VA_ARGS__}})
/* The default block, the grid from the partitions. */
#define ACU_AUTO ((acu_config){.shared = 0})
#endif

/* One thread for each of `n` elements: 256 threads a block, as many blocks as that takes. */
static inline acu_config acu_for_num_elems(int64_t n)
{
    acu_config c = ACU_GRID_BLOCK(n > 0 ? (n + 255) / 256 : 0, 1, 1, 256, 1, 1);
    return c;
}

ACU_END
#endif
