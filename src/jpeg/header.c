/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a JPEG file's header says: its segments up to the frame's (ITU-T T.81, annex B). */
#include "jpeg/jpeg.h"

#include "base/error.h"
#include "base/options.h"

enum { SOI = 0xD8, EOI = 0xD9, SOS = 0xDA, DHT = 0xC4, JPG = 0xC8, DAC = 0xCC, TEM = 0x01 };
enum { BASELINE = 0xC0, EXTENDED, PROGRESSIVE, SOF_LAST = 0xCF };

typedef struct reader {
    const char *who;
    acui_jpeg_file file;
    size_t at;
} reader;

static acu_status ends_early(const reader *r)
{
    return acui_fail(ACU_ERR_INVALID, "%s: the file ends within its header, after %zu bytes",
                     r->who, r->file.bytes);
}

static unsigned two(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static bool is_frame(int marker)
{
    return marker >= BASELINE && marker <= SOF_LAST && marker != DHT && marker != JPG &&
           marker != DAC;
}

/* Some bytes of FF may come before a marker. */
static acu_status next_marker(reader *r, int *marker)
{
    const uint8_t *data = r->file.data;
    if (r->at < r->file.bytes && data[r->at] != 0xFF)
        return acui_fail(ACU_ERR_INVALID, "%s: the header is broken: byte %zu should begin a "
                         "segment, with FF, and is %02X", r->who, r->at, data[r->at]);
    while (r->at < r->file.bytes && data[r->at] == 0xFF)
        r->at++;
    if (r->at >= r->file.bytes)
        return ends_early(r);
    *marker = data[r->at++];
    return ACU_OK;
}

static acu_status read_frame(const reader *r, int marker, size_t length, acu_jpeg_info *info)
{
    const uint8_t *at = r->file.data + r->at + 2; /* behind the length */
    if (marker > PROGRESSIVE)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s: the file is lossless, hierarchical or coded "
                         "arithmetically (marker %02X); baseline, extended and progressive ones "
                         "are taken", r->who, (unsigned)marker);
    if (length < 8 || length < 8 + 3 * (size_t)at[5])
        return acui_fail(ACU_ERR_INVALID, "%s: the header is broken: the frame at byte %zu is too "
                         "short", r->who, r->at);
    if (at[0] != 8)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s: the file has %d bits a sample, not 8", r->who,
                         at[0]);
    info->height = two(at + 1);
    info->width = two(at + 3);
    info->components = at[5];
    info->progressive = marker == PROGRESSIVE;
    if (info->height == 0)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s: the header does not say the height", r->who);
    if (info->width == 0 || (at[5] != 1 && at[5] != 3 && at[5] != 4))
        return acui_fail(ACU_ERR_INVALID, "%s: the header is broken: %u pixels wide, %d "
                         "components", r->who, two(at + 3), at[5]);
    return ACU_OK;
}

/* Up to the frame, or what should not come before it. */
static acu_status read_segments(reader *r, acu_jpeg_info *info)
{
    for (;;) {
        int marker = 0;
        ACUI_TRY(next_marker(r, &marker));
        if (marker == TEM || (marker >= 0xD0 && marker <= 0xD7)) /* without a length */
            continue;
        if (marker == SOS || marker == EOI || marker == SOI || marker == 0)
            return acui_fail(ACU_ERR_INVALID, "%s: the header is broken: marker %02X at byte %zu, "
                             "before the size of the picture", r->who, (unsigned)marker, r->at - 1);
        if (r->file.bytes - r->at < 2)
            return ends_early(r);
        size_t length = two(r->file.data + r->at);
        if (length < 2)
            return acui_fail(ACU_ERR_INVALID, "%s: the header is broken: the segment at byte %zu "
                             "has %zu bytes", r->who, r->at, length);
        if (length > r->file.bytes - r->at)
            return ends_early(r);
        if (is_frame(marker))
            return read_frame(r, marker, length, info);
        r->at += length;
    }
}

acu_status acui_jpeg_header(const char *who, acui_jpeg_file file, acu_jpeg_info *info)
{
    reader r = {.who = who, .file = file, .at = 2};
    const uint8_t *data = file.data;
    if (file.bytes < 2)
        return acui_fail(ACU_ERR_INVALID, "%s: a file of %zu bytes is no JPEG file", who,
                         file.bytes);
    if (data[0] != 0xFF || data[1] != SOI)
        return acui_fail(ACU_ERR_INVALID, "%s: it is no JPEG file: it begins with %02X %02X, and "
                         "not with FF D8", who, data[0], data[1]);
    return read_segments(&r, info);
}

acu_status acui_jpeg_check(acui_jpeg_file file, acu_jpeg_info *info)
{
    ACUI_TRY(acui_jpeg_header(acui_jpeg_name, file, info));
    if (info->components == 4)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "%s: the file has 4 components (CMYK), and 1 or 3 "
                         "are taken", acui_jpeg_name);
    return ACU_OK;
}

acu_status acu_jpeg_info_of(const void *data, size_t bytes, acu_jpeg_info *info)
{
    acu_jpeg_info known = {0};
    ACUI_TRY(acui_struct_check(info, __func__));
    if (!data)
        return acui_fail(ACU_ERR_INVALID, "%s: the data is NULL", __func__);
    ACUI_TRY(acui_jpeg_header(__func__, (acui_jpeg_file){data, bytes}, &known));
    return acui_struct_write(info, &known, sizeof known, __func__);
}
