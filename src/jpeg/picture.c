/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A picture that is decoded: what its operations (decode.c) share, and what they do when they
 * run. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/host/host.h"
#include "jpeg/jpeg.h"
#include "memory/memory.h"
#include "op/call.h"

#include <string.h>

#define NAME acui_jpeg_name

/* ---- the program's file, which op and work share --------------------------------------------- */

struct acui_jpeg_copy {
    _Atomic(unsigned) holders;
    size_t bytes;
    uint8_t data[];
};

acui_jpeg_copy *acui_jpeg_copy_new(const void *data, size_t bytes)
{
    acui_jpeg_copy *f = bytes < SIZE_MAX / 2 ? acui_alloc(sizeof *f + bytes) : NULL;
    if (!f)
        return NULL;
    atomic_store_explicit(&f->holders, 1, memory_order_relaxed);
    f->bytes = bytes;
    memcpy(f->data, data, bytes);
    return f;
}

void acui_jpeg_copy_drop(void *file)
{
    acui_jpeg_copy *f = file;
    if (f && atomic_fetch_sub_explicit(&f->holders, 1, memory_order_acq_rel) == 1)
        acui_free(f);
}

/* ---- one picture ----------------------------------------------------------------------------- */

typedef struct acui_jpeg_picture {
    acui_aside job;
    _Atomic(unsigned) holders; /* the ops of its halves */
    acu_device *device;        /* retained */
    acui_jpeg_wish wish;
    acui_jpeg_copy *copy;      /* held; NULL: the file is the second value */
    bool by_nvjpeg;
    acui_handles *handles;     /* held; of nvJPEG, like: */
    acui_nvjpeg *state;        /* once the half on the host is done */
} picture;

void acui_jpeg_picture_drop(void *user)
{
    picture *p = user;
    if (atomic_fetch_sub_explicit(&p->holders, 1, memory_order_acq_rel) != 1)
        return;
    acui_nvjpeg_give(p->state);
    acui_handles_drop(p->handles);
    acui_jpeg_copy_drop(p->copy);
    acu_device_release(p->device);
    acui_free(p);
}

static acui_jpeg_file file_of(const picture *p, const acu_val *values)
{
    if (p->copy)
        return (acui_jpeg_file){p->copy->data, p->copy->bytes};
    const acu_tensor *t = values[1].tensor;
    return (acui_jpeg_file){acu_tensor_host(t), acu_tensor_bytes(t)};
}

/* Of a file that was not there when this was planned. */
static acu_status check_size(const picture *p, acui_jpeg_file file)
{
    acu_jpeg_info info = {0};
    ACUI_TRY(acui_jpeg_check(file, &info));
    if (info.height == p->wish.height && info.width == p->wish.width)
        return ACU_OK;
    return acui_fail(ACU_ERR_SHAPE, "%s: the file has %lld rows of %lld pixels, and the program "
                     "said %lld of %lld", NAME, (long long)info.height, (long long)info.width,
                     (long long)p->wish.height, (long long)p->wish.width);
}

static acu_status begin_by_nvjpeg(picture *p, acui_jpeg_file file)
{
    acui_entered entered;
    ACUI_TRY(acui_handles_of(&acui_library_NVJPEG, p->device, NULL, 0, &p->handles));
    acui_handles_wait(p->handles);
    ACUI_TRY(acui_handles_status(p->handles));
    acu_status st = acui_enter(p->device, &entered);
    if (st != ACU_OK)
        return st;
    st = acui_nvjpeg_begin(p->handles, file, &p->wish, &p->state);
    acui_leave(&entered);
    return st;
}

/* `values`: memory that is written, and the file, if it is a tensor. Of nvJPEG, this is the half on
 * the host. */
static acu_status decode(acui_aside *job, const acu_val *values)
{
    picture *p = (picture *)job; /* its first member */
    acui_jpeg_file file = file_of(p, values);
    if (!p->copy)
        ACUI_TRY(check_size(p, file));
    if (p->by_nvjpeg)
        return begin_by_nvjpeg(p, file);
    ACUI_TRY(acui_library_open(&acui_library_TURBOJPEG));
    return acui_jpeg_by_turbo(file, &p->wish, acu_tensor_host(values[0].tensor));
}

static acu_status finish(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)count;
    picture *p = user;
    const acu_tensor *to = values[0].tensor;
    const int64_t *strides = acu_tensor_strides(to);
    CUdeviceptr channel[3] = {acu_tensor_address(to)};
    bool planes = p->wish.layout == ACU_CHW && p->wish.pixels != ACU_PIXELS_GRAY;
    for (int i = 1; i < 3 && planes; i++)
        channel[i] = channel[0] + (CUdeviceptr)(i * strides[0]);
    return acui_nvjpeg_finish(p->state, stream, channel, (size_t)strides[planes]);
}

/* ---- the ops --------------------------------------------------------------------------------- */

acui_jpeg_picture *acui_jpeg_picture_new(acu_device *device, const acui_jpeg_wish *wish,
                                         acui_jpeg_copy *copy, bool by_nvjpeg)
{
    picture *p = ACUI_NEW(picture);
    if (!p)
        return NULL;
    p->job.name = NAME;
    p->job.run = decode;
    atomic_store_explicit(&p->holders, 1, memory_order_relaxed);
    p->device = acu_device_retain(device);
    p->wish = *wish;
    p->copy = copy;
    if (copy)
        atomic_fetch_add_explicit(&copy->holders, 1, memory_order_relaxed);
    p->by_nvjpeg = by_nvjpeg;
    return p;
}

static acu_user held(picture *p)
{
    atomic_fetch_add_explicit(&p->holders, 1, memory_order_relaxed);
    return (acu_user){p, acui_jpeg_picture_drop};
}

acu_op *acui_jpeg_host_half(acui_jpeg_picture *p, const acu_arg *args, size_t count, acu_site site)
{
    return acu_op_named(acu_op_host_async(acui_aside_begin, held(p), args, count, site), NAME);
}

acu_op *acui_jpeg_device_half(acui_jpeg_picture *p, const acu_arg *args, size_t count,
                              acu_site site)
{
    static const acui_own_call own;
    acu_op *op = acui_op_own_call(acu_op_foreign(finish, held(p), args, count, site), &own);
    acui_op_not_captured(op); /* each file is decoded once */
    return acu_op_named(op, NAME);
}
