/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fat binaries: containers with the same code for several architectures, as machine code and as
 * PTX, of which the PTX is taken out. A header of 16 bytes gives the size of what follows: entries,
 * each with a header that gives its own size and that of its payload. Everything is little-endian.
 */
#include "driver/errors.h"
#include "driver/module.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER = 16,      /* bytes */
    ENTRY = 64,       /* of a header, at least; text that nobody needs here may follow */
    KIND_PTX = 1,
    KIND_ELF = 2,
    COMPRESSED_LZ4 = 0x2000, /* flags */
    COMPRESSED_ZSTD = 0x8000
};

typedef struct entry {
    unsigned kind, arch;
    uint64_t flags;
    const char *payload;
    uint64_t bytes; /* of the payload; used of these: */
    uint64_t compressed, text;
} entry;

static uint64_t read_at(const char *data, size_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, data + offset, bytes);
    return value;
}

/* The entry at *at, which moves behind it; false at the end, or if the rest is damaged. */
static bool next_entry(const char *data, uint64_t size, uint64_t *at, entry *e)
{
    uint64_t left = size - *at;
    if (left < ENTRY)
        return false;
    const char *header = data + *at;
    uint64_t header_bytes = read_at(header, 4, 4);
    *e = (entry){.kind = (unsigned)read_at(header, 0, 2),
                 .bytes = read_at(header, 8, 8),
                 .compressed = read_at(header, 16, 4),
                 .arch = (unsigned)read_at(header, 28, 4),
                 .flags = read_at(header, 40, 8),
                 .text = read_at(header, 56, 8)};
    if (header_bytes < ENTRY || header_bytes > left || e->bytes > left - header_bytes)
        return false;
    e->payload = header + header_bytes;
    *at += header_bytes + e->bytes;
    return true;
}

/* ---- LZ4 blocks ---- */

typedef struct stream {
    const unsigned char *in, *in_end;
    unsigned char *out, *begin, *out_end;
} stream;

/* A length of 15 in four bits continues in further bytes, as long as they are 255. False: the input
 * ended. */
static bool read_length(stream *s, size_t *length)
{
    if (*length < 15)
        return true;
    unsigned more;
    do {
        if (s->in == s->in_end || *length > UINT32_MAX)
            return false;
        more = *s->in++;
        *length += more;
    } while (more == 255);
    return true;
}

static bool copy_literals(stream *s, size_t length)
{
    if (!read_length(s, &length) || length > (size_t)(s->in_end - s->in) ||
        length > (size_t)(s->out_end - s->out))
        return false;
    memcpy(s->out, s->in, length);
    s->in += length;
    s->out += length;
    return true;
}

/* Copies from what was written already, possibly overlapping its own output. */
static bool copy_match(stream *s, size_t length)
{
    if (s->in_end - s->in < 2)
        return false;
    size_t distance = s->in[0] | (size_t)s->in[1] << 8;
    s->in += 2;
    if (!read_length(s, &length) || distance == 0 || distance > (size_t)(s->out - s->begin) ||
        length + 4 > (size_t)(s->out_end - s->out))
        return false;
    for (length += 4; length > 0; length--, s->out++)
        *s->out = *(s->out - distance);
    return true;
}

/* Decompresses an LZ4 block; true if that gives exactly `bytes`. */
static bool expand(const char *block, uint64_t block_bytes, char *text, uint64_t bytes)
{
    stream s = {.in = (const unsigned char *)block, .out = (unsigned char *)text};
    s.in_end = s.in + block_bytes;
    s.begin = s.out;
    s.out_end = s.out + bytes;
    while (s.in < s.in_end) {
        unsigned token = *s.in++;
        if (!copy_literals(&s, token >> 4))
            return false;
        if (s.in < s.in_end && !copy_match(&s, token & 15))
            return false;
    }
    return s.out == s.out_end;
}

/* ---- the PTX ---- */

enum { LARGEST_TEXT = 1 << 30 };

static unsigned damaged(void)
{
    sd_error_say("the fat binary is damaged, or was cut off");
    return ACU_CUDA_ERROR_INVALID_IMAGE;
}

static unsigned take_text(const entry *e, char **text, size_t *length)
{
    bool packed = (e->flags & COMPRESSED_LZ4) != 0;
    uint64_t bytes = packed ? e->text : strnlen(e->payload, e->bytes);
    if (e->flags & COMPRESSED_ZSTD) {
        sd_error_say(
            "the PTX in the fat binary is compressed with zstd, which the software device "
            "does not read: compile with -Xfatbin --compress=false, or --compress-mode=speed");
        return ACU_CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (bytes > LARGEST_TEXT || e->compressed > e->bytes)
        return damaged();
    char *copy = malloc(bytes + 1);
    if (!copy)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    if (!packed)
        memcpy(copy, e->payload, bytes);
    else if (!expand(e->payload, e->compressed, copy, bytes)) {
        free(copy);
        return damaged();
    }
    copy[bytes] = '\0';
    *text = copy;
    *length = strlen(copy);
    return ACU_CUDA_SUCCESS;
}

static unsigned newer_ptx(unsigned arch)
{
    sd_error_say("the PTX in the fat binary is for sm_%u and newer, and the device is an sm_%u: "
                 "compile for that as well, or set SOFTCUDA_SM=%u",
                 arch, sd.devices[0].sm, arch);
    return ACU_CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static unsigned no_ptx(const char *archs)
{
    sd_error_say(
        "the fat binary holds machine code for GPUs only (%s), and no PTX, which the software "
        "device executes: compile with PTX in it as well",
        archs[0] ? archs + 2 : "none at all");
    return ACU_CUDA_ERROR_NO_BINARY_FOR_GPU;
}

unsigned sd_fatbin_text(const void *image, size_t length, char **text, size_t *text_length)
{
    const char *data = image;
    if (length < HEADER)
        return damaged();
    uint64_t header = read_at(data, 6, 2), size = read_at(data, 8, 8), at = 0;
    if (header < HEADER || header > length || size > length - header)
        return damaged();
    entry e, best = {.payload = NULL}; /* the newest that the device runs */
    unsigned newer = UINT_MAX;         /* the oldest that it does not */
    char archs[96] = "";
    while (next_entry(data + header, size, &at, &e)) {
        size_t used = strlen(archs);
        if (e.kind == KIND_ELF)
            snprintf(archs + used, sizeof archs - used, ", sm_%u", e.arch);
        if (e.kind == KIND_PTX && e.arch > sd.devices[0].sm)
            newer = e.arch < newer ? e.arch : newer;
        else if (e.kind == KIND_PTX && (!best.payload || e.arch > best.arch))
            best = e;
    }
    if (size - at >= ENTRY)
        return damaged();
    if (!best.payload && newer < UINT_MAX)
        return newer_ptx(newer);
    return best.payload ? take_text(&best, text, text_length) : no_ptx(archs);
}
