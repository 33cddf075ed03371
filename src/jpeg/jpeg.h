/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The parts of decoding: the header (header.c), the operation (decode.c), what it does (picture.c),
 * TurboJPEG (turbo.c), nvJPEG (nvjpeg.c). */
#ifndef ACUI_JPEG_JPEG_H
#define ACUI_JPEG_JPEG_H

#include "vendor/handles.h"

#include <acuda/jpeg.h>
#include <acuda/op.h>

extern const char acui_jpeg_name[]; /* of the op */

/* What the program wants. `pixels` is RGB, BGR or GRAY. */
typedef struct acui_jpeg_wish {
    int64_t height, width;
    acu_pixels pixels;
    acu_layout layout;
} acui_jpeg_wish;

/* A file in memory. */
typedef struct acui_jpeg_file {
    const uint8_t *data;
    size_t bytes;
} acui_jpeg_file;

/* acu_jpeg_info_of, in the name of `who`; the size is not looked at. */
acu_status acui_jpeg_header(const char *who, acui_jpeg_file file, acu_jpeg_info *info);
/* Refuses what can not be decoded. */
acu_status acui_jpeg_check(acui_jpeg_file file, acu_jpeg_info *info);

/* ---- picture.c ---- */

/* The program's file, which ops and work share: dropped by each. NULL: no memory. */
typedef struct acui_jpeg_copy acui_jpeg_copy;
acui_jpeg_copy *acui_jpeg_copy_new(const void *data, size_t bytes);
void acui_jpeg_copy_drop(void *copy);

/* What the ops for a picture share; the caller drops it. `copy` NULL: the file is a value of the
 * first half's. NULL: no memory. */
typedef struct acui_jpeg_picture acui_jpeg_picture;
acui_jpeg_picture *acui_jpeg_picture_new(acu_device *device, const acui_jpeg_wish *wish,
                                         acui_jpeg_copy *copy, bool by_nvjpeg);
void acui_jpeg_picture_drop(void *picture);
/* All of it by TurboJPEG, or the half on the host. Arguments: pinned memory (of dense pixels), and
 * the file. */
acu_op *acui_jpeg_host_half(acui_jpeg_picture *picture, const acu_arg *args, size_t count,
                            acu_site site);
/* nvJPEG's half on the device. Arguments: the result, and the other half's values. */
acu_op *acui_jpeg_device_half(acui_jpeg_picture *picture, const acu_arg *args, size_t count,
                              acu_site site);

/* ---- the decoders ---- */

/* All of it, into dense pixels in host memory, channels side by side. Blocks. */
acu_status acui_jpeg_by_turbo(acui_jpeg_file file, const acui_jpeg_wish *wish, void *to);

/* What nvJPEG needs for one picture in flight, of the device's. */
typedef struct acui_nvjpeg acui_nvjpeg;
/* The half on the host, with the device entered; `handles` are ready. The file is needed until the
 * picture is given back. Blocks. */
acu_status acui_nvjpeg_begin(acui_handles *handles, acui_jpeg_file file,
                             const acui_jpeg_wish *wish, acui_nvjpeg **picture);
/* The other half, enqueued: to the addresses of the channels, or of all of them. */
acu_status acui_nvjpeg_finish(acui_nvjpeg *picture, CUstream stream, const CUdeviceptr channel[3],
                              size_t pitch);
/* Once all that was enqueued is over. NULL is fine. */
void acui_nvjpeg_give(acui_nvjpeg *picture);

#endif
