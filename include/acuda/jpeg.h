/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * JPEG files into images, as operations among others:
 *
 *   acu_op *photo = acu_jpeg_decode(data, bytes, NULL);                u8 [height, width, 3]
 *   acu_op *small = acu_resize(photo, 224, 224, &(acu_image_options){...});
 *
 * The file's header says the shape, so it is read at once; everything else runs later: what the
 * host has to do on one of four threads of acuda's, which also read files (file.h), the rest on the
 * device. Pictures of different sizes become a batch by acu_resize_batch or acu_image_to_tensor,
 * which take an op for each.
 *
 * acuda does not contain a decoder. On a GPU this is nvJPEG, where it is found (pip install
 * nvidia-nvjpeg, or CUDA's toolkit; version 11 or later): baseline files by the GPU's own engine
 * for them, if it has one (an H100 has), all others half on the host, half by kernels. Otherwise,
 * and on the software device, it is TurboJPEG of libjpeg-turbo (Debian's package libturbojpeg0;
 * version 2 or later), which does all of it on that thread; what it has decoded is copied to the
 * device. vendor.h says where they are looked for, and how to name or switch off one of them. Who
 * uses them accepts their licences: NVIDIA's for CUDA, and those of libjpeg-turbo (IJG, BSD, zlib).
 * Decoders round differently: their pixels differ by a few of 255, more at edges of colours, where
 * chroma has fewer pixels.
 *
 * Baseline, extended and progressive files of 8 bits a sample with 1 or 3 components, which are
 * gray, or Y, Cb and Cr, or R, G and B. Pictures that a camera says to be turned (Exif) are not.
 */
#ifndef ACUDA_JPEG_H
#define ACUDA_JPEG_H

#include <acuda/image.h>

ACU_BEGIN

typedef struct acu_jpeg_info {
    size_t size; /* sizeof(acu_jpeg_info), set by the caller */
    int64_t height, width; /* 1 to 65,535 */
    int components;        /* 1, 3, or, which acu_jpeg_decode does not take, 4 */
    bool progressive;
} acu_jpeg_info;

/*
 * What the header says, which is at the beginning: some hundred bytes of the file may be enough, or
 * 64 KiB and more where a camera put a small picture before it. Never blocks. Errors: INVALID (it
 * is no JPEG file, its header is broken or cut off; NULL, no size), NOT_SUPPORTED (lossless,
 * hierarchical or arithmetic coding, other than 8 bits a sample, a height that only the end of the
 * file says). Messages say what is wrong at which byte.
 */
ACU_API acu_status acu_jpeg_info_of(const void *data, size_t bytes, acu_jpeg_info *info);

/*
 * Decode a file, which is copied now. Uses `pixels` (ACU_PIXELS_RGB, which is the default, _BGR or
 * _GRAY; a gray file has three equal channels, unless gray is asked for) and `layout`. Yields u8
 * [height, width, 3] or, in ACU_CHW, [3, height, width]; in gray [height, width].
 *
 * Errors: those of acu_jpeg_info_of, NOT_SUPPORTED (4 components: CMYK), those of the options, and
 * NO_MEMORY; of the future: INVALID (what the decoder says is wrong with the file, with its name
 * for it; TurboJPEG's warnings, such as that a file ends early, are errors), NOT_SUPPORTED (what
 * it does not decode), NOT_FOUND (there is none), DRIVER, DEVICE_MEMORY (as nvJPEG answers).
 * Driver: what nvJPEG calls; else that of acu_copy. Not in explicit graphs. nvJPEG's memory for a
 * picture in flight is kept with the device for the next ones.
 */
#define acu_jpeg_decode(data, bytes, options)                                                      \
    acu_op_jpeg_decode((data), (bytes), (options), ACU_SITE)
ACU_API acu_op *acu_op_jpeg_decode(const void *data, size_t bytes,
                                   const acu_image_options *options, acu_site site);

/*
 * The same of a file that is the u8 tensor [bytes] x, when this runs: one that acu_file_read is to
 * read, for instance; on any memory and of any strides (what is not dense host memory is copied
 * there). The program says height and width. Errors also: DTYPE, SHAPE (x; or, of the future, the
 * header says another height or width than the program).
 */
#define acu_jpeg_decode_from(x, height, width, options)                                            \
    acu_op_jpeg_decode_from(ACU_OPERAND(x), (height), (width), (options), ACU_SITE)
ACU_API acu_op *acu_op_jpeg_decode_from(acu_op *x, int64_t height, int64_t width,
                                        const acu_image_options *options, acu_site site);

ACU_END
#endif
