/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * nvJPEG as a library of vendor/, and the two halves of a picture decoded by it. Some GPUs have an
 * engine that decodes baseline files; all else is decoded by the CPU and by kernels. A state of
 * nvJPEG's belongs to one picture, from the half on the host until the device is done with the
 * other; a device keeps as many as were in use at once.
 */
#include "jpeg/jpeg.h"

#include "base/alloc.h"
#include "base/error.h"

enum { DEFAULT = 0, HYBRID = 1, HARDWARE = 3 };                    /* backends */
enum { OUT_Y = 2, OUT_PLANES_RGB, OUT_PLANES_BGR, OUT_RGB, OUT_BGR }; /* formats */

/* The ways to decode, the best first. */
static const int ways[] = {HARDWARE, HYBRID};
enum { WAYS = sizeof ways / sizeof *ways };

typedef void *object; /* handles, decoders, states, buffers, streams of bytes, parameters */

typedef struct nv_image {
    unsigned char *channel[4];
    size_t pitch[4];
} nv_image;

/* X(field, symbol, parameters) */
#define CALLS(X)                                                                                   \
    X(property, "nvjpegGetProperty", (int which, int *value))                                      \
    X(create, "nvjpegCreateEx",                                                                    \
      (int backend, void *device_memory, void *pinned_memory, unsigned flags, object *handle))     \
    X(destroy, "nvjpegDestroy", (object handle))                                                   \
    X(new_decoder, "nvjpegDecoderCreate", (object handle, int backend, object *decoder))           \
    X(end_decoder, "nvjpegDecoderDestroy", (object decoder))                                       \
    X(new_state, "nvjpegDecoderStateCreate", (object handle, object decoder, object *state))       \
    X(end_state, "nvjpegJpegStateDestroy", (object state))                                         \
    X(new_pinned, "nvjpegBufferPinnedCreate", (object handle, void *memory, object *buffer))       \
    X(end_pinned, "nvjpegBufferPinnedDestroy", (object buffer))                                    \
    X(new_device, "nvjpegBufferDeviceCreate", (object handle, void *memory, object *buffer))       \
    X(end_device, "nvjpegBufferDeviceDestroy", (object buffer))                                    \
    X(attach_pinned, "nvjpegStateAttachPinnedBuffer", (object state, object buffer))               \
    X(attach_device, "nvjpegStateAttachDeviceBuffer", (object state, object buffer))               \
    X(new_bytes, "nvjpegJpegStreamCreate", (object handle, object *bytes))                         \
    X(end_bytes, "nvjpegJpegStreamDestroy", (object bytes))                                        \
    X(parse, "nvjpegJpegStreamParse",                                                              \
      (object handle, const unsigned char *data, size_t length, int keep_metadata, int keep_bytes, \
       object bytes))                                                                              \
    X(new_params, "nvjpegDecodeParamsCreate", (object handle, object *params))                     \
    X(end_params, "nvjpegDecodeParamsDestroy", (object params))                                    \
    X(supports, "nvjpegDecoderJpegSupported",                                                      \
      (object decoder, object bytes, object params, int *unsupported))                             \
    X(set_format, "nvjpegDecodeParamsSetOutputFormat", (object params, int format))                \
    X(on_host, "nvjpegDecodeJpegHost",                                                             \
      (object handle, object decoder, object state, object params, object bytes))                  \
    X(transfer, "nvjpegDecodeJpegTransferToDevice",                                                \
      (object handle, object decoder, object state, object bytes, CUstream stream))                \
    X(on_device, "nvjpegDecodeJpegDevice",                                                         \
      (object handle, object decoder, object state, nv_image *to, CUstream stream))

static struct {
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    CALLS(ACU_X)
#undef ACU_X
} nvjpeg;

static const acui_symbol symbols[] = {
#define ACU_X(field, symbol, parameters) {symbol, &nvjpeg.field},
    CALLS(ACU_X)
#undef ACU_X
};

static const acui_vendor_status statuses[] = {
    {1, ACU_ERR_DRIVER, "NVJPEG_STATUS_NOT_INITIALIZED", "the library could not be initialized"},
    {2, ACU_ERR_DRIVER, "NVJPEG_STATUS_INVALID_PARAMETER", "an argument that it does not take"},
    {3, ACU_ERR_INVALID, "NVJPEG_STATUS_BAD_JPEG", "the file is broken"},
    {4, ACU_ERR_NOT_SUPPORTED, "NVJPEG_STATUS_JPEG_NOT_SUPPORTED",
     "it does not decode files of this kind"},
    {5, ACU_ERR_DEVICE_MEMORY, "NVJPEG_STATUS_ALLOCATOR_FAILURE", "no memory for the picture"},
    {6, ACU_ERR_DRIVER, "NVJPEG_STATUS_EXECUTION_FAILED", "the device failed to execute it"},
    {7, ACU_ERR_NOT_SUPPORTED, "NVJPEG_STATUS_ARCH_MISMATCH", "this GPU can not do it"},
    {8, ACU_ERR_DRIVER, "NVJPEG_STATUS_INTERNAL_ERROR", "an operation inside the library failed"},
    {9, ACU_ERR_NOT_SUPPORTED, "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED",
     "it does not have this"},
    {10, ACU_ERR_INVALID, "NVJPEG_STATUS_INCOMPLETE_BITSTREAM", "the file ends early"},
};

static acu_status said(const char *call, int status)
{
    return acui_library_fail(&acui_library_NVJPEG, call, status);
}

/* ---- what a device has ----------------------------------------------------------------------- */

/* The handle of vendor/handles.h. */
typedef struct unit {
    object handle, decoder[WAYS]; /* NULL: this GPU has no such way */
    pthread_mutex_t lock;
    acui_nvjpeg *free[WAYS]; /* guarded by the lock */
} unit;

struct acui_nvjpeg {
    acui_nvjpeg *next;
    unit *of;
    int way;
    object state, pinned, device, bytes, params;
};

static void end_picture(acui_nvjpeg *p)
{
    if (p->state)
        nvjpeg.end_state(p->state);
    if (p->pinned)
        nvjpeg.end_pinned(p->pinned);
    if (p->device)
        nvjpeg.end_device(p->device);
    if (p->bytes)
        nvjpeg.end_bytes(p->bytes);
    if (p->params)
        nvjpeg.end_params(p->params);
    acui_free(p);
}

/* Nothing is in flight any more. */
static void end(void *made)
{
    unit *u = made;
    for (int way = 0; way < WAYS; way++) {
        while (u->free[way]) {
            acui_nvjpeg *p = u->free[way];
            u->free[way] = p->next;
            end_picture(p);
        }
        if (u->decoder[way])
            nvjpeg.end_decoder(u->decoder[way]);
    }
    nvjpeg.destroy(u->handle);
    pthread_mutex_destroy(&u->lock);
    acui_free(u);
}

static acu_status make(acu_device *device, const void *key, bool first, void **made)
{
    (void)device, (void)key, (void)first;
    unit *u = ACUI_NEW(unit);
    if (!u)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for nvJPEG's handle");
    acu_status st = said("nvjpegCreateEx", nvjpeg.create(DEFAULT, NULL, NULL, 0, &u->handle));
    if (st != ACU_OK) {
        acui_free(u);
        return st;
    }
    pthread_mutex_init(&u->lock, NULL);
    for (int way = 0; way < WAYS; way++) { /* the last one is everywhere */
        int status = nvjpeg.new_decoder(u->handle, ways[way], &u->decoder[way]);
        if (status != 0)
            u->decoder[way] = NULL;
        if (way + 1 == WAYS)
            st = said("nvjpegDecoderCreate", status);
    }
    if (st != ACU_OK)
        end(u);
    else
        *made = u;
    return st;
}

acui_library acui_library_NVJPEG = {
    .find = {.words = "nvJPEG",
             .stem = "libnvjpeg.so",
             .names = {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so.11", "libnvjpeg.so"}},
    .id = ACU_VENDOR_NVJPEG,
    .oldest = 11,
    .with_12 = 12,
    .with_13 = 13,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .statuses = statuses,
    .status_count = sizeof statuses / sizeof *statuses,
    .property = &nvjpeg.property,
    .make = make,
    .end = end,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- what a picture in flight has ------------------------------------------------------------ */

static acu_status make_parts(acui_nvjpeg *p)
{
    object handle = p->of->handle;
    ACUI_TRY(said("nvjpegDecoderStateCreate",
                  nvjpeg.new_state(handle, p->of->decoder[p->way], &p->state)));
    ACUI_TRY(said("nvjpegBufferPinnedCreate", nvjpeg.new_pinned(handle, NULL, &p->pinned)));
    ACUI_TRY(said("nvjpegBufferDeviceCreate", nvjpeg.new_device(handle, NULL, &p->device)));
    ACUI_TRY(said("nvjpegJpegStreamCreate", nvjpeg.new_bytes(handle, &p->bytes)));
    ACUI_TRY(said("nvjpegDecodeParamsCreate", nvjpeg.new_params(handle, &p->params)));
    ACUI_TRY(said("nvjpegStateAttachPinnedBuffer", nvjpeg.attach_pinned(p->state, p->pinned)));
    return said("nvjpegStateAttachDeviceBuffer", nvjpeg.attach_device(p->state, p->device));
}

static acu_status make_picture(unit *u, int way, acui_nvjpeg **picture)
{
    acui_nvjpeg *p = ACUI_NEW(acui_nvjpeg);
    if (!p)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", acui_jpeg_name);
    p->of = u;
    p->way = way;
    acu_status st = make_parts(p);
    if (st != ACU_OK)
        end_picture(p);
    else
        *picture = p;
    return st;
}

static acu_status take_picture(unit *u, int way, acui_nvjpeg **picture)
{
    pthread_mutex_lock(&u->lock);
    acui_nvjpeg *p = u->free[way];
    if (p)
        u->free[way] = p->next;
    pthread_mutex_unlock(&u->lock);
    *picture = p;
    return p ? ACU_OK : make_picture(u, way, picture);
}

void acui_nvjpeg_give(acui_nvjpeg *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->of->lock);
    p->next = p->of->free[p->way];
    p->of->free[p->way] = p;
    pthread_mutex_unlock(&p->of->lock);
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int format_of(const acui_jpeg_wish *wish)
{
    bool planes = wish->layout == ACU_CHW;
    if (wish->pixels == ACU_PIXELS_GRAY)
        return OUT_Y;
    if (wish->pixels == ACU_PIXELS_BGR)
        return planes ? OUT_PLANES_BGR : OUT_BGR;
    return planes ? OUT_PLANES_RGB : OUT_RGB;
}

/* *fits: the way of this picture is one for such a file. */
static acu_status parse(acui_nvjpeg *p, acui_jpeg_file file, const acui_jpeg_wish *wish, bool *fits)
{
    const unit *u = p->of;
    int unsupported = 1;
    ACUI_TRY(said("nvjpegJpegStreamParse",
                  nvjpeg.parse(u->handle, file.data, file.bytes, 0, 0, p->bytes)));
    ACUI_TRY(said("nvjpegDecodeParamsSetOutputFormat",
                  nvjpeg.set_format(p->params, format_of(wish))));
    *fits = p->way + 1 == WAYS || (nvjpeg.supports(u->decoder[p->way], p->bytes, p->params,
                                                   &unsupported) == 0 && !unsupported);
    return ACU_OK;
}

static acu_status on_host(acui_nvjpeg *p)
{
    const unit *u = p->of;
    return said("nvjpegDecodeJpegHost", nvjpeg.on_host(u->handle, u->decoder[p->way], p->state,
                                                       p->params, p->bytes));
}

acu_status acui_nvjpeg_begin(acui_handles *handles, acui_jpeg_file file,
                             const acui_jpeg_wish *wish, acui_nvjpeg **picture)
{
    unit *u = acui_handles_take(handles);
    acui_handles_give(handles, u); /* several threads may use it, of which each has a picture */
    acu_status st = ACU_OK;
    bool fits = false;
    *picture = NULL;
    for (int way = 0; way < WAYS && st == ACU_OK && !fits; way++) {
        if (!u->decoder[way])
            continue;
        acui_nvjpeg_give(*picture);
        st = take_picture(u, way, picture);
        if (st == ACU_OK)
            st = parse(*picture, file, wish, &fits);
    }
    if (st == ACU_OK)
        st = on_host(*picture);
    if (st != ACU_OK) {
        acui_nvjpeg_give(*picture);
        *picture = NULL;
    }
    return st;
}

acu_status acui_nvjpeg_finish(acui_nvjpeg *p, CUstream stream, const CUdeviceptr channel[3],
                              size_t pitch)
{
    const unit *u = p->of;
    nv_image image = {{0}, {0}};
    for (int i = 0; i < 3 && channel[i]; i++) {
        image.channel[i] = (unsigned char *)(uintptr_t)channel[i];
        image.pitch[i] = pitch;
    }
    ACUI_TRY(said("nvjpegDecodeJpegTransferToDevice",
                  nvjpeg.transfer(u->handle, u->decoder[p->way], p->state, p->bytes, stream)));
    return said("nvjpegDecodeJpegDevice",
                nvjpeg.on_device(u->handle, u->decoder[p->way], p->state, &image, stream));
}
