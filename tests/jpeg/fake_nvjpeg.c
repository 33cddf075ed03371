/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A library that poses as nvJPEG for the software device. Whatever the file, what it decodes is the
 * picture of picture.h, which is gray if the file has one component; it looks at no more of a file
 * than where the frame's segment is, and at all of its bytes whether they are there. Its decoder in
 * hardware takes baseline files only.
 */
#include "../vendor/fake.h"
#include "picture.h"

enum { SUCCESS, NOT_INITIALIZED, INVALID_PARAMETER, BAD_JPEG, EXECUTION_FAILED = 6, ARCH_MISMATCH };
enum { HYBRID = 1, HARDWARE = 3 };
enum { OUT_Y = 2, OUT_PLANES_RGB, OUT_PLANES_BGR, OUT_RGB, OUT_BGR };

static fake_driver fake;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

/* All of its objects. */
typedef struct thing {
    char kind;             /* h, d, s, p, v, b, o: handle, decoder, state, buffers, bytes, params */
    struct thing *pinned, *device, *bytes; /* of a state; the last while a picture is in it */
    _Atomic(bool) busy;
    int format;            /* of params, and of a state from then on */
    const unsigned char *data;
    size_t length;
    int height, width, components;
    bool progressive;
    int backend;           /* of a decoder and its states */
} thing;

typedef struct image {
    unsigned char *channel[4];
    size_t pitch[4];
} image;

static int new_thing(char kind, thing **made)
{
    *made = calloc(1, sizeof **made);
    if (!*made)
        return EXECUTION_FAILED;
    (*made)->kind = kind;
    atomic_fetch_add(&fake.created, 1);
    return SUCCESS;
}

static int end_thing(char kind, thing *t)
{
    bool right = t && t->kind == kind && !atomic_load(&t->busy);
    atomic_fetch_add(&fake.refused, !right);
    if (!right)
        return INVALID_PARAMETER;
    atomic_fetch_add(&fake.destroyed, 1);
    free(t);
    return SUCCESS;
}

#define IS(thing_, kind_) ((thing_) && (thing_)->kind == (kind_))

#define PAIR(kind, make, end)                                                                      \
    int make(thing *handle, thing **made);                                                         \
    int make(thing *handle, thing **made)                                                          \
    {                                                                                              \
        return IS(handle, 'h') ? new_thing(kind, made) : INVALID_PARAMETER;                        \
    }                                                                                              \
    int end(thing *t);                                                                             \
    int end(thing *t)                                                                              \
    {                                                                                              \
        return end_thing(kind, t);                                                                 \
    }

PAIR('b', nvjpegJpegStreamCreate, nvjpegJpegStreamDestroy)
PAIR('o', nvjpegDecodeParamsCreate, nvjpegDecodeParamsDestroy)

int nvjpegGetProperty(int which, int *value);
int nvjpegCreateEx(int backend, void *device_memory, void *pinned_memory, unsigned flags,
                   thing **handle);
int nvjpegDestroy(thing *handle);
int nvjpegDecoderCreate(thing *handle, int backend, thing **decoder);
int nvjpegDecoderDestroy(thing *decoder);
int nvjpegDecoderStateCreate(thing *handle, thing *decoder, thing **state);
int nvjpegJpegStateDestroy(thing *state);
int nvjpegBufferPinnedCreate(thing *handle, void *memory, thing **buffer);
int nvjpegBufferPinnedDestroy(thing *buffer);
int nvjpegBufferDeviceCreate(thing *handle, void *memory, thing **buffer);
int nvjpegBufferDeviceDestroy(thing *buffer);
int nvjpegStateAttachPinnedBuffer(thing *state, thing *buffer);
int nvjpegStateAttachDeviceBuffer(thing *state, thing *buffer);
int nvjpegJpegStreamParse(thing *handle, const unsigned char *data, size_t length,
                          int keep_metadata, int keep_bytes, thing *bytes);
int nvjpegDecodeParamsSetOutputFormat(thing *params, int format);
int nvjpegDecoderJpegSupported(thing *decoder, thing *bytes, thing *params, int *unsupported);
int nvjpegDecodeJpegHost(thing *handle, thing *decoder, thing *state, thing *params,
                         thing *bytes);
int nvjpegDecodeJpegTransferToDevice(thing *handle, thing *decoder, thing *state, thing *bytes,
                                     void *stream);
int nvjpegDecodeJpegDevice(thing *handle, thing *decoder, thing *state, image *to, void *stream);

int nvjpegGetProperty(int which, int *value)
{
    static const int version[] = {12, 3, 4};
    if (which < 0 || which > 2)
        return INVALID_PARAMETER;
    *value = version[which];
    return SUCCESS;
}

int nvjpegCreateEx(int backend, void *device_memory, void *pinned_memory, unsigned flags,
                   thing **handle)
{
    if (atomic_load(&fake.fail_create))
        return atomic_load(&fake.fail_create);
    if (backend != 0 || device_memory || pinned_memory || flags)
        return INVALID_PARAMETER;
    return new_thing('h', handle);
}

int nvjpegDestroy(thing *handle)
{
    return end_thing('h', handle);
}

int nvjpegDecoderCreate(thing *handle, int backend, thing **decoder)
{
    if (!IS(handle, 'h') || (backend != HYBRID && backend != HARDWARE))
        return INVALID_PARAMETER;
    if (backend == HARDWARE && atomic_load(&fake.less))
        return ARCH_MISMATCH;
    int status = new_thing('d', decoder);
    if (status == SUCCESS)
        (*decoder)->backend = backend;
    return status;
}

int nvjpegDecoderDestroy(thing *decoder)
{
    return end_thing('d', decoder);
}

int nvjpegDecoderStateCreate(thing *handle, thing *decoder, thing **state)
{
    if (!IS(handle, 'h') || !IS(decoder, 'd'))
        return INVALID_PARAMETER;
    int status = new_thing('s', state);
    if (status == SUCCESS)
        (*state)->backend = decoder->backend;
    return status;
}

int nvjpegJpegStateDestroy(thing *state)
{
    return end_thing('s', state);
}

int nvjpegBufferPinnedCreate(thing *handle, void *memory, thing **buffer)
{
    return IS(handle, 'h') && !memory ? new_thing('p', buffer) : INVALID_PARAMETER;
}

int nvjpegBufferPinnedDestroy(thing *buffer)
{
    return end_thing('p', buffer);
}

int nvjpegBufferDeviceCreate(thing *handle, void *memory, thing **buffer)
{
    return IS(handle, 'h') && !memory ? new_thing('v', buffer) : INVALID_PARAMETER;
}

int nvjpegBufferDeviceDestroy(thing *buffer)
{
    return end_thing('v', buffer);
}

int nvjpegStateAttachPinnedBuffer(thing *state, thing *buffer)
{
    if (!IS(state, 's') || !IS(buffer, 'p'))
        return INVALID_PARAMETER;
    state->pinned = buffer;
    return SUCCESS;
}

int nvjpegStateAttachDeviceBuffer(thing *state, thing *buffer)
{
    if (!IS(state, 's') || !IS(buffer, 'v'))
        return INVALID_PARAMETER;
    state->device = buffer;
    return SUCCESS;
}

/* Finds the frame's segment. */
static bool find_frame(thing *bytes)
{
    const unsigned char *data = bytes->data;
    for (size_t at = 2; at + 10 < bytes->length;) {
        if (data[at + 1] == 0xC0 || data[at + 1] == 0xC2) {
            bytes->height = data[at + 5] << 8 | data[at + 6];
            bytes->width = data[at + 7] << 8 | data[at + 8];
            bytes->components = data[at + 9];
            bytes->progressive = data[at + 1] == 0xC2;
            return true;
        }
        at += 2 + (size_t)(data[at + 2] << 8 | data[at + 3]);
    }
    return false;
}

int nvjpegJpegStreamParse(thing *handle, const unsigned char *data, size_t length,
                          int keep_metadata, int keep_bytes, thing *bytes)
{
    if (!IS(handle, 'h') || !IS(bytes, 'b') || keep_metadata || keep_bytes)
        return INVALID_PARAMETER;
    bytes->data = data;
    bytes->length = length;
    return find_frame(bytes) ? SUCCESS : BAD_JPEG;
}

int nvjpegDecodeParamsSetOutputFormat(thing *params, int format)
{
    if (!IS(params, 'o') || format < OUT_Y || format > OUT_BGR)
        return INVALID_PARAMETER;
    params->format = format;
    return SUCCESS;
}

int nvjpegDecoderJpegSupported(thing *decoder, thing *bytes, thing *params, int *unsupported)
{
    if (!IS(decoder, 'd') || !IS(bytes, 'b') || !IS(params, 'o') || !params->format)
        return INVALID_PARAMETER;
    *unsupported = decoder->backend == HARDWARE && bytes->progressive;
    return SUCCESS;
}

int nvjpegDecodeJpegHost(thing *handle, thing *decoder, thing *state, thing *params, thing *bytes)
{
    if (!IS(handle, 'h') || !IS(decoder, 'd') || !IS(state, 's') || !state->pinned ||
        !IS(params, 'o') || !IS(bytes, 'b') || !bytes->data ||
        state->backend != decoder->backend ||
        (decoder->backend == HARDWARE && bytes->progressive))
        return INVALID_PARAMETER;
    if (atomic_load(&state->busy)) /* the device still has another picture in it */
        atomic_fetch_add(&fake.overlaps, 1);
    if (atomic_load(&fake.fail_call))
        return atomic_load(&fake.fail_call);
    state->bytes = bytes;
    state->format = params->format;
    return SUCCESS;
}

int nvjpegDecodeJpegTransferToDevice(thing *handle, thing *decoder, thing *state, thing *bytes,
                                     void *stream)
{
    (void)stream;
    bool right = IS(handle, 'h') && IS(decoder, 'd') && IS(state, 's') && state->device &&
                 state->bytes == bytes;
    if (right)
        atomic_store(&state->busy, true);
    return right ? SUCCESS : INVALID_PARAMETER;
}

typedef struct decoding {
    thing *state;
    image to;
} decoding;

/* The channel in its place among those of the result. */
static void put_channel(fake_driver *d, const decoding *work, int channel, int place, int channels)
{
    const thing *bytes = work->state->bytes;
    bool planes = channels == 3 && work->state->format <= OUT_PLANES_BGR;
    int step = planes ? 1 : channels, plane = planes ? place : 0;
    size_t pitch = work->to.pitch[plane];
    char *to = fake_memory(d, work->to.channel[plane],
                           pitch * (size_t)(bytes->height - 1) + (size_t)(bytes->width * step));
    for (int y = 0; to && y < bytes->height; y++)
        for (int x = 0; x < bytes->width; x++) {
            int value = bytes->components == 1 ? picture_at(x, y, 0)
                        : channels == 1        ? picture_luma(x, y)
                                               : picture_at(x, y, channel);
            to[(size_t)y * pitch + (size_t)(x * step + (planes ? 0 : place))] = (char)value;
        }
}

static void run(fake_driver *d, const void *data)
{
    const decoding *work = data;
    thing *state = work->state;
    int format = state->format, channels = format == OUT_Y ? 1 : 3;
    bool backwards = format == OUT_BGR || format == OUT_PLANES_BGR;
    unsigned sum = 0; /* all of the file is still there */
    for (size_t i = 0; i < state->bytes->length; i++)
        sum += state->bytes->data[i];
    for (int c = 0; c < channels && sum; c++)
        put_channel(d, work, c, backwards ? 2 - c : c, channels);
    state->bytes = NULL;
    atomic_store(&state->busy, false);
}

int nvjpegDecodeJpegDevice(thing *handle, thing *decoder, thing *state, image *to, void *stream)
{
    if (!IS(handle, 'h') || !IS(decoder, 'd') || !IS(state, 's') || !atomic_load(&state->busy))
        return INVALID_PARAMETER;
    decoding work = {.state = state, .to = *to};
    int status = fake_enqueue(stream, run, &work, sizeof work, EXECUTION_FAILED);
    if (status != SUCCESS)
        atomic_store(&state->busy, false);
    return status;
}
