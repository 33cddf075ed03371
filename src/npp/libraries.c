/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libnppig and libnppidei as libraries of vendor/: symbols, versions, statuses, and the context
 * that each of their calls gets. */
#include "npp/calls.h"

#include "base/alloc.h"
#include "base/error.h"

acui_npp_resize_fn *acui_npp_resizes[ACUI_NPP_TYPES][ACUI_NPP_LAYOUTS];
acui_npp_remap_fn *acui_npp_remaps[ACUI_NPP_TYPES][ACUI_NPP_LAYOUTS];
acui_npp_batch_fn *acui_npp_batches[ACUI_NPP_TYPES][ACUI_NPP_LAYOUTS];
struct acui_npp_borders acui_npp_borders;

/* ---- symbols --------------------------------------------------------------------------------- */

typedef struct version {
    int major, minor, build;
} version;

/* libnppc has it, which the others bring along. */
static const version *(*geometry_version)(void);
static const version *(*copies_version)(void);

#define VERSION "nppGetLibVersion"
#define THREE(call, type, table)                                                                   \
    {"nppi" call "_" type "_C1R_Ctx", &(table)[0]}, {"nppi" call "_" type "_C3R_Ctx", &(table)[1]},\
    {"nppi" call "_" type "_C4R_Ctx", &(table)[2]}

static const acui_symbol geometry[] = {
    {VERSION, &geometry_version},
    THREE("Resize", "8u", acui_npp_resizes[ACUI_NPP_8U]),
    THREE("Resize", "16u", acui_npp_resizes[ACUI_NPP_16U]),
    THREE("Resize", "32f", acui_npp_resizes[ACUI_NPP_32F]),
    THREE("Remap", "8u", acui_npp_remaps[ACUI_NPP_8U]),
    THREE("Remap", "16u", acui_npp_remaps[ACUI_NPP_16U]),
    THREE("Remap", "32f", acui_npp_remaps[ACUI_NPP_32F]),
    THREE("ResizeBatch", "8u", acui_npp_batches[ACUI_NPP_8U]),
    THREE("ResizeBatch", "32f", acui_npp_batches[ACUI_NPP_32F]),
};

#define TWO(type, table)                                                                           \
    {"nppiCopyConstBorder_" type "_C3R_Ctx", &(table)[0]},                                         \
    {"nppiCopyConstBorder_" type "_C4R_Ctx", &(table)[1]}

static const acui_symbol copies[] = {
    {VERSION, &copies_version},
    {"nppiCopyConstBorder_8u_C1R_Ctx", &acui_npp_borders.one_8u},
    {"nppiCopyConstBorder_16u_C1R_Ctx", &acui_npp_borders.one_16u},
    {"nppiCopyConstBorder_32f_C1R_Ctx", &acui_npp_borders.one_32f},
    TWO("8u", acui_npp_borders.more[ACUI_NPP_8U]),
    TWO("16u", acui_npp_borders.more[ACUI_NPP_16U]),
    TWO("32f", acui_npp_borders.more[ACUI_NPP_32F]),
};

static int part_of(const version *v, int which, int *value)
{
    *value = which == 0 ? v->major : which == 1 ? v->minor : v->build;
    return 0;
}

static int geometry_property(int which, int *value)
{
    return part_of(geometry_version(), which, value);
}

static int copies_property(int which, int *value)
{
    return part_of(copies_version(), which, value);
}

static int (*geometry_says)(int, int *) = geometry_property;
static int (*copies_says)(int, int *) = copies_property;

/* ---- statuses -------------------------------------------------------------------------------- */

#define STATUS(value, status, name, words) {value, ACU_ERR_##status, "NPP_" name, words}
/* Of all versions. */
static const acui_vendor_status common[] = {
    STATUS(29, INVALID, "WRONG_INTERSECTION_ROI_WARNING", "the regions have nothing in common with "
           "their images; nothing was written"),
    STATUS(30, INVALID, "WRONG_INTERSECTION_QUAD_WARNING", "the quadrangle has nothing in common "
           "with the region; nothing was written"),
    STATUS(-2, DRIVER, "ERROR", "it failed, and does not say why"),
    STATUS(-4, DEVICE_MEMORY, "NO_MEMORY_ERROR", "no memory"),
    STATUS(-5, INVALID, "BAD_ARGUMENT_ERROR", "an argument that it does not take"),
    STATUS(-6, INVALID, "SIZE_ERROR", "a size that it does not take"),
    STATUS(-7, INVALID, "RANGE_ERROR", "a range that it does not take"),
    STATUS(-8, DRIVER, "NULL_POINTER_ERROR", "an address is missing"),
    STATUS(-9, DEVICE_MEMORY, "MEMORY_ALLOCATION_ERR", "it could not allocate memory"),
    STATUS(-10, INVALID, "DIVIDE_BY_ZERO_ERROR", "a division by zero"),
    STATUS(-11, INVALID, "OUT_OFF_RANGE_ERROR", "an argument is out of range"),
    STATUS(-33, INVALID, "MASK_SIZE_ERROR", "a mask of a size that it does not take"),
    STATUS(-34, INVALID, "ANCHOR_ERROR", "an anchor outside of its mask"),
    STATUS(-37, INVALID, "STRIDE_ERROR", "a stride below the length of a row"),
    STATUS(-47, INVALID, "CHANNEL_ERROR", "a number of a channel that it does not take"),
    STATUS(-51, INVALID, "DIVISOR_ERROR", "a divisor that is zero"),
    STATUS(-52, INVALID, "COI_ERROR", "a channel that the image does not have"),
    STATUS(-53, INVALID, "NUMBER_OF_CHANNELS_ERROR", "a number of channels that it does not take"),
    STATUS(-56, INVALID, "COEFFICIENT_ERROR", "a coefficient that it does not take"),
    STATUS(-57, INVALID, "RECTANGLE_ERROR", "a region of less than two pixels along a side"),
    STATUS(-58, INVALID, "QUADRANGLE_ERROR", "a quadrangle that is not convex, or has no area"),
    STATUS(-60, INVALID, "CHANNEL_ORDER_ERROR", "an order of channels that it does not take"),
    STATUS(-61, DRIVER, "CORRUPTED_DATA_ERROR", "the data is damaged"),
    STATUS(-106, INVALID, "LUT_NUMBER_OF_LEVELS_ERROR", "fewer than two levels"),
    STATUS(-107, INVALID, "HISTOGRAM_NUMBER_OF_LEVELS_ERROR", "fewer than two levels"),
    STATUS(-108, INVALID, "NOT_EVEN_STEP_ERROR", "a distance of rows that is not a multiple of the "
           "size of an element"),
    STATUS(-109, DRIVER, "OVERFLOW_ERROR", "a number is too large"),
    STATUS(-201, INVALID, "RESIZE_NO_OPERATION_ERROR", "the result would be below one pixel along "
           "a side"),
    STATUS(-210, INVALID, "QUALITY_INDEX_ERROR", "an image that is all of one colour"),
    STATUS(-213, NOT_SUPPORTED, "ROUND_MODE_NOT_SUPPORTED_ERROR", "a rounding that it does not "
           "have"),
    STATUS(-215, DRIVER, "STREAM_CTX_ERROR", "a stream's context that it does not take"),
    STATUS(-1000, DRIVER, "CUDA_KERNEL_EXECUTION_ERROR", "a kernel could not be launched"),
    STATUS(-1002, INVALID, "ALIGNMENT_ERROR", "memory that is not aligned"),
    STATUS(-1003, DRIVER, "MEMCPY_ERROR", "a copy failed"),
    STATUS(-1004, DRIVER, "MEMSET_ERROR", "a fill failed"),
    STATUS(-1005, DRIVER, "MEMFREE_ERROR", "memory could not be given back"),
    STATUS(-1020, INVALID, "WRONG_INTERSECTION_ROI_ERROR", "the regions have nothing in common "
           "with their images"),
    STATUS(-1024, DRIVER, "TEXTURE_BIND_ERROR", "a texture could not be bound"),
    STATUS(-1027, NOT_SUPPORTED, "NOT_SUFFICIENT_COMPUTE_CAPABILITY", "the device is too old for "
           "it"),
    STATUS(-1028, NOT_SUPPORTED, "ZC_MODE_NOT_SUPPORTED_ERROR", "it does not support this mode"),
    STATUS(-1030, INVALID, "LUT_PALETTE_BITSIZE_ERROR", "a palette of a size that it does not "
           "take"),
    STATUS(-1031, DRIVER, "INVALID_DEVICE_POINTER_ERROR", "an address that the device does not "
           "have"),
    STATUS(-1032, DRIVER, "INVALID_HOST_POINTER_ERROR", "an address that the host does not have"),
};

/* Whose numbers changed with 13.2: that of earlier versions, and the later one. */
static const struct {
    int before, since;
    acu_status status;
    const char *name, *words;
} moved[] = {
    {-12, -59, ACU_ERR_NOT_SUPPORTED, "NPP_DATA_TYPE_ERROR", "a type that it does not take"},
    {-13, -12, ACU_ERR_INVALID, "NPP_SCALE_RANGE_ERROR", "a scale that is out of range"},
    {-14, -16, ACU_ERR_INVALID, "NPP_STEP_ERROR", "a distance of rows that it does not take"},
    {-17, -13, ACU_ERR_DRIVER, "NPP_CONTEXT_MATCH_ERROR", "a context of another operation"},
    {-15, -17, ACU_ERR_INVALID, "NPP_FFT_ORDER_ERROR", "an order of an FFT that it does not take"},
    {-16, -18, ACU_ERR_INVALID, "NPP_FFT_FLAG_ERROR", "a flag of an FFT that it does not take"},
    {-18, -19, ACU_ERR_INVALID, "NPP_THRESHOLD_ERROR", "a threshold that it does not take"},
    {-19, -20, ACU_ERR_INVALID, "NPP_THRESHOLD_NEGATIVE_LEVEL_ERROR", "a threshold below zero"},
    {-20, -21, ACU_ERR_INVALID, "NPP_MOMENT_00_ZERO_ERROR", "a moment that is zero"},
    {-21, -22, ACU_ERR_INVALID, "NPP_MIRROR_FLIP_ERROR", "an axis that it does not take"},
    {-22, -23, ACU_ERR_NOT_SUPPORTED, "NPP_INTERPOLATION_ERROR", "a filter that it does not take"},
    {-23, -24, ACU_ERR_INVALID, "NPP_RESIZE_FACTOR_ERROR", "a factor that is not above zero, or "
     "that the filter does not take"},
    {-59, -62, ACU_ERR_INVALID, "NPP_ZERO_MASK_VALUE_ERROR", "all of a mask is zero"},
    {-9999, -14, ACU_ERR_NOT_SUPPORTED, "NPP_NOT_SUPPORTED_MODE_ERROR", "it does not support this"},
};

/* Nothing to do; an odd region was made even; slower than with aligned memory. */
static bool is_harmless(int status)
{
    return status == 0 || status == 1 || status == 35 || status == 10000;
}

acu_status acui_npp_said(const acui_library *library, const char *call, int status)
{
    bool since = library->version >= 130200;
    if (is_harmless(status))
        return ACU_OK;
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
        if ((since ? moved[i].since : moved[i].before) == status)
            return acui_fail(moved[i].status, "%s answered %s (%d): %s", call, moved[i].name,
                             status, moved[i].words);
    return acui_library_fail(library, call, status);
}

/* ---- what a device has ----------------------------------------------------------------------- */

static acu_status ask(acu_device *device, unsigned attribute, int *value)
{
    return ACUI_DEV(device, DeviceGetAttribute, value, attribute, device->raw);
}

static acu_status fill(acu_device *device, acui_npp_context *c)
{
    int shared;
    c->device = device->info.ordinal;
    ACUI_TRY(ask(device, ACU_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &c->processors));
    ACUI_TRY(ask(device, ACU_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
                 &c->processor_threads));
    ACUI_TRY(ask(device, ACU_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &c->block_threads));
    ACUI_TRY(ask(device, ACU_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &shared));
    ACUI_TRY(ask(device, ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &c->major));
    c->block_shared = (size_t)shared;
    return ask(device, ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &c->minor);
}

enum { WARM = 4 }; /* pixels along a side */

/* The first call of a library loads its kernels. */
typedef void warm_fn(char *from, char *to, acui_npp_context context);

static void warm_resize(char *from, char *to, acui_npp_context context)
{
    const acui_npp_size size = {WARM, WARM};
    const acui_npp_rect all = {0, 0, WARM, WARM};
    acui_npp_resizes[ACUI_NPP_8U][1](from, 3 * WARM, size, all, to, 3 * WARM, size, all,
                                     ACUI_NPP_LINEAR, context);
}

static void warm_border(char *from, char *to, acui_npp_context context)
{
    const acui_npp_size size = {WARM, WARM};
    const uint8_t black[3] = {0};
    acui_npp_borders.more[ACUI_NPP_8U][0](from, 3 * WARM, size, to, 3 * WARM, size, 0, 0, black,
                                          context);
}

static void warm_up(acu_device *device, acui_npp_context context, warm_fn *call)
{
    const acu_driver_table *cu = device->cu;
    const size_t each = (size_t)3 * WARM * WARM;
    CUdeviceptr memory;
    if (!device->pool ||
        cu->StreamCreate(&context.stream, ACU_CU_STREAM_NON_BLOCKING) != ACU_CUDA_SUCCESS)
        return;
    context.stream_flags = ACU_CU_STREAM_NON_BLOCKING;
    if (cu->MemAllocFromPoolAsync(&memory, 2 * each, device->pool, context.stream) ==
        ACU_CUDA_SUCCESS) {
        char *at = (char *)(uintptr_t)memory;
        if (cu->MemsetD8Async(memory, 0, 2 * each, context.stream) == ACU_CUDA_SUCCESS)
            call(at, at + each, context);
        cu->MemFreeAsync(memory, context.stream);
    }
    cu->StreamSynchronize(context.stream);
    cu->StreamDestroy(context.stream);
}

static acu_status make(acu_device *device, bool first, warm_fn *call, void **made)
{
    acui_npp_context *context = ACUI_NEW(acui_npp_context);
    if (!context)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a context of NPP");
    acu_status st = fill(device, context);
    if (st != ACU_OK) {
        acui_free(context);
        return st;
    }
    if (first)
        warm_up(device, *context, call);
    *made = context;
    return ACU_OK;
}

static acu_status make_geometry(acu_device *device, const void *key, bool first, void **made)
{
    (void)key;
    return make(device, first, warm_resize, made);
}

static acu_status make_copies(acu_device *device, const void *key, bool first, void **made)
{
    (void)key;
    return make(device, first, warm_border, made);
}

#define LIBRARY(of, stem_, symbols_, says, make_)                                                  \
    .find = {.words = of,                                                                          \
             .stem = stem_,                                                                        \
             .names = {stem_ ".13", stem_ ".12", stem_ ".11", stem_}},                             \
    .oldest = 11, .with_12 = 12, .with_13 = 13, .symbols = symbols_,                               \
    .symbol_count = sizeof symbols_ / sizeof *symbols_, .statuses = common,                        \
    .status_count = sizeof common / sizeof *common, .property = &says, .make = make_,              \
    .end = acui_free, .lock = PTHREAD_MUTEX_INITIALIZER

acui_library acui_library_NPPIG = {
    LIBRARY("NPP's geometry", "libnppig.so", geometry, geometry_says, make_geometry),
    .id = ACU_VENDOR_NPPIG,
};
acui_library acui_library_NPPIDEI = {
    LIBRARY("NPP's copies", "libnppidei.so", copies, copies_says, make_copies),
    .id = ACU_VENDOR_NPPIDEI,
};
