/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Modules and kernels: loaded code, and the functions in it that a launch names.
 */
#ifndef ACUDA_KERNEL_H
#define ACUDA_KERNEL_H

#include <acuda/compile.h>
#include <acuda/device.h>
#include <acuda/memory.h>
#include <acuda/tensor.h>

ACU_BEGIN

typedef struct acu_module acu_module;
typedef struct acu_kernel acu_kernel;

/*
 * Where the code of a module comes from: one of `ptx`, `image`, `path` and `cuda`. With a `name`
 * the module can be found again by acu_kernel_find; NULL: not. A name that a living module of the
 * device has is refused (BUSY), and one that begins with "acuda." too (INVALID).
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
/* The same for one source each. The software device refuses cubins, and takes
 * the PTX of fat binaries. */
ACU_API acu_status acu_module_load_ptx(acu_device *device, const char *name, const char *ptx,
                                       acu_module **module);
ACU_API acu_status acu_module_load_file(acu_device *device, const char *name, const char *path,
                                        acu_module **module);
ACU_API acu_status acu_module_load_image(acu_device *device, const char *name, const void *image,
                                         size_t bytes, acu_module **module);
/*
 * A module, or a library of the driver's (CUDA 12.0 and newer), that somebody else loaded on the
 * device. acuda itself loads modules only: the driver makes a module of a library on each device as
 * well, and where that is put off until the first launch it would be loaded under it. Its kernels
 * can be launched and its variables used like others. It stays theirs: it is not unloaded, and must
 * live until `user.release` is called, after the last use; on failure that has been called. Blocks
 * while code that the driver put off is loaded. Driver: cuLibraryGetModule,
 * cuModuleEnumerateFunctions, cuFuncGetAttribute, cuFuncGetParamInfo. Errors: INVALID, BUSY,
 * NOT_SUPPORTED (libraries, before CUDA 12.0), DRIVER.
 */
ACU_API acu_status acu_module_wrap_load(acu_device *device, const char *name, CUmodule raw,
                                        acu_user user, acu_module **module);
ACU_API acu_status acu_library_wrap_load(acu_device *device, const char *name, CUlibrary library,
                                         acu_user user, acu_module **module);
ACU_API acu_module *acu_module_retain(acu_module *module);
ACU_API void acu_module_release(acu_module *module); /* its kernels keep it as long as they live */

/*
 * A module exists before it is loaded: acu_future_module gives it at once, and so does
 * acu_kernel_find of built-in kernels. Meanwhile its kernels can be had, declared and launched;
 * submitting never waits. Launches wait on the host, as behind other work, until the load has
 * ended. What can be checked against the device and a declared signature is checked when they are
 * submitted, the rest before they are issued, in the same words; then the submission fails, or with
 * the load's own error (what the compiler said included) if that failed.
 *
 * acu_module_poll, acu_kernel_poll: ACU_OK, NOT_READY while it is being loaded, else why it failed
 * (of a kernel also: NOT_FOUND, ARGUMENTS where it was declared wrongly). Never block.
 * acu_module_wait, acu_kernel_wait: until then. Block; errors also: TIMEOUT, WOULD_WAIT.
 */
ACU_API acu_status acu_module_poll(acu_module *module);
ACU_API acu_status acu_module_wait(acu_module *module, uint64_t timeout);
/* What the compiler said of a module's CUDA C++: warnings, and errors where it failed. NULL while
 * it is being loaded, "" if nothing. Lives as long as the module. */
ACU_API const char *acu_module_log(acu_module *module);

/* A kernel of the module. Never blocks, but on an old driver (before CUDA 12.4) for a cubin.
 * Errors: NOT_FOUND (with the names that the module has, where known),
 * that of a load that failed. */
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

/*
 * One more fact of a kernel, or a wish: the driver's attributes, by their values in driver_abi.h
 * (ACU_CU_FUNC_ATTRIBUTE_...). Setting one counts for all handles of this kernel, from the next
 * launch that is issued directly on; set them before launching. Never block; driver:
 * cuFuncGetAttribute, cuFuncSetAttribute. Errors: NOT_READY (it is being loaded), INVALID,
 * NOT_SUPPORTED.
 */
ACU_API acu_status acu_kernel_attribute(acu_kernel *kernel, unsigned attribute, int *value);
ACU_API acu_status acu_kernel_set_attribute(acu_kernel *kernel, unsigned attribute, int value);
/* How much of what L1 and shared memory have in common is to be shared memory, in percent; -1: as
 * the driver likes. */
ACU_API acu_status acu_kernel_prefer_shared(acu_kernel *kernel, int percent);

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
    /* Blocks that run side by side on one cluster of multiprocessors, 8 at most in all; x zero:
     * none. The grid is a multiple. Compute capability 9 and newer; the
     * software device has none. */
    unsigned cluster[3];
    /* All blocks run at the same time and may wait for each other (grid synchronization): the grid
     * is checked against what the device holds. */
    bool cooperative;
    /* It may begin before the kernel before it on the same stream has ended (programmatic dependent
     * launch): what it reads of that one it may touch after `griddepcontrol.wait` only. Compute
     * capability 9 and newer; the software device runs them in turn. */
    bool programmatic;
} acu_config;
/* Programmatic launches are issued directly: executable graphs do not hold them, and acu_graph_load
 * refuses them. The others are parts of graphs like any launch. */
/* One of their sizes: what 32 bits do not hold becomes what no device has, and is refused with
 * LIMIT. */
#ifdef __cplusplus
constexpr
#else
static
#endif
inline unsigned acui_dim(int64_t size)
{
    return size < 0 || size > INT64_C(0xffffffff) ? UINT32_MAX : ACUI_CAST(unsigned, size);
}
#define ACUI_DIM(x) acui_dim(ACUI_CAST(int64_t, x))

/* Of ACU_BLOCK and ACU_AUTO the grid comes from the partitions: ACU_BLOCK(4, 4) is the block,
 * ACU_AUTO the default one. */
#ifdef __cplusplus
#define ACU_GRID_BLOCK(gx, gy, gz, bx, by, bz)                                                     \
    (acu_config{{ACUI_DIM(gx), ACUI_DIM(gy), ACUI_DIM(gz)},                                        \
                {ACUI_DIM(bx), ACUI_DIM(by), ACUI_DIM(bz)},                                        \
                0, {0, 0, 0}, false, false})
ACU_END /* templates can not have C's linkage */
template <typename... N> constexpr acu_config acui_threads(N... threads)
{
    return acu_config{{0, 0, 0}, {acui_dim(static_cast<int64_t>(threads))...}, 0, {0, 0, 0}, false,
                      false};
}
ACU_BEGIN
#define ACU_BLOCK(...) acui_threads(__VA_ARGS__)
#define ACU_AUTO (acu_config{})
#else
static inline acu_config acui_threads(const int64_t threads[3])
{
    acu_config c = {.block = {acui_dim(threads[0]), acui_dim(threads[1]), acui_dim(threads[2])}};
    return c;
}
#define ACU_GRID_BLOCK(gx, gy, gz, bx, by, bz)                                                     \
    ((acu_config){                                                                                 \
        .grid = {ACUI_DIM(gx), ACUI_DIM(gy), ACUI_DIM(gz)},                                        \
        .block = {ACUI_DIM(bx), ACUI_DIM(by), ACUI_DIM(bz)}})
#define ACU_BLOCK(...) acui_threads((const int64_t[3]){__VA_ARGS__})
#define ACU_AUTO ((acu_config){.shared = 0})
#endif

/*
 * Occupancy: blocks that a multiprocessor holds at a time, of so many threads with so much dynamic
 * shared memory; the block that fills it best, and the fewest of these that fill the device;
 * clusters that the device holds at a time, and the most blocks that one may have, for the config's
 * block, shared memory and (for the first) cluster. Never block. Driver: cuOccupancy..., and
 * cuFuncSetAttribute where the shared memory is to be opted into, as a launch would.
 * Errors: NOT_READY (it is being loaded), LIMIT (what can not be launched), NOT_SUPPORTED
 * (clusters).
 */
ACU_API acu_status acu_kernel_max_blocks(acu_kernel *kernel, unsigned threads, size_t shared,
                                         unsigned *blocks);
ACU_API acu_status acu_kernel_best_block(acu_kernel *kernel, size_t shared, unsigned *threads,
                                         unsigned *grid);
ACU_API acu_status acu_kernel_max_clusters(acu_kernel *kernel, const acu_config *config,
                                           unsigned *clusters);
ACU_API acu_status acu_kernel_max_cluster(acu_kernel *kernel, const acu_config *config,
                                          unsigned *blocks);

/*
 * A variable of the module (__device__ or __constant__), by its name in PTX (extern "C", or
 * mangled), as a buffer on the module's device: tensors can be made over it, and copied like any
 * other. It keeps the module alive. While it lives, launches of the module's kernels count as users
 * of it: they update a variable, and read a constant (of a cubin: update it too), in order with
 * copies of it. The same variable is the same buffer. Never blocks. Driver: cuModuleGetGlobal.
 * Errors: NOT_READY, NOT_FOUND, NO_MEMORY.
 */
ACU_API acu_status acu_module_global(acu_module *module, const char *name, acu_buffer **buffer);

/* One thread for each of `n` elements: 256 threads a block, as many blocks as that takes. The
 * launch is refused (LIMIT) for none, and for more than a grid has. */
static inline acu_config acu_for_num_elems(int64_t n)
{
    int64_t blocks = n > 0 ? (n - 1) / 256 + 1 : 0;
    acu_config c = ACU_GRID_BLOCK(blocks, 1, 1, 256, 1, 1);
    return c;
}

ACU_END
#endif
