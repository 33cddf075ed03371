/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Writing protocol buffers' wire format: as much of it as a trace needs (trace.h). A message is a
 * list of fields, each a key (its number, below 2048, and how its value is written) and a value.
 * Whoever writes asks once for room for a whole message, since a trace has millions of them, and
 * then moves on in it:
 *
 *   unsigned char *at = acui_pb_room(pb, most), *inner;
 *   at = acui_pb_uint(at, 1, 42);
 *   inner = at = acui_pb_open(at, 2);       a message inside the message
 *   at = acui_pb_text(at, 1, "text");
 *   acui_pb_close(inner, at);
 *   acui_pb_wrote(pb, at);
 */
#ifndef ACUI_BASE_PROTOBUF_H
#define ACUI_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct acui_pb {
    unsigned char *data;
    size_t used, room;
    bool failed; /* there was no memory for something: what was written is incomplete */
} acui_pb;

/* Bytes that a key and a number, or a key and a length, take at most. */
enum { ACUI_PB_UINT = 12, ACUI_PB_HEAD = 6 };

/* Room for so many bytes behind what is used; NULL: there is no memory. */
unsigned char *acui_pb_grow(acui_pb *pb, size_t bytes);
static inline unsigned char *acui_pb_room(acui_pb *pb, size_t bytes)
{
    return pb->room - pb->used >= bytes ? pb->data + pb->used : acui_pb_grow(pb, bytes);
}

static inline void acui_pb_wrote(acui_pb *pb, const unsigned char *at)
{
    pb->used = (size_t)(at - pb->data);
}

void acui_pb_free(acui_pb *pb);

/* ---- fields: each returns where the next one goes ---- */

static inline unsigned char *acui_pb_varint(unsigned char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

static inline unsigned char *acui_pb_key(unsigned char *at, unsigned field, unsigned how)
{
    unsigned key = field << 3 | how;
    if (key >= 0x80)
        *at++ = (unsigned char)(key | 0x80);
    *at++ = (unsigned char)(key >= 0x80 ? key >> 7 : key);
    return at;
}

/* Also enums and bool. */
static inline unsigned char *acui_pb_uint(unsigned char *at, unsigned field, uint64_t value)
{
    return acui_pb_varint(acui_pb_key(at, field, 0), value);
}

static inline unsigned char *acui_pb_fixed64(unsigned char *at, unsigned field, uint64_t value)
{
    at = acui_pb_key(at, field, 1);
    for (unsigned i = 0; i < 8; i++)
        *at++ = (unsigned char)(value >> 8 * i);
    return at;
}

/* A message inside the message: it has what is written between these two, and less than 256 MiB. */
static inline unsigned char *acui_pb_open(unsigned char *at, unsigned field)
{
    return acui_pb_key(at, field, 2) + 4;
}

static inline void acui_pb_close(unsigned char *opened, const unsigned char *at)
{
    size_t length = (size_t)(at - opened);
    opened[-4] = (unsigned char)(length | 0x80); /* as long as it can be: that is valid, too */
    opened[-3] = (unsigned char)(length >> 7 | 0x80);
    opened[-2] = (unsigned char)(length >> 14 | 0x80);
    opened[-1] = (unsigned char)(length >> 21 & 0x7f);
}

/* Text takes ACUI_PB_HEAD and its length. It is made valid UTF-8; a literal is. */
unsigned char *acui_pb_text(unsigned char *at, unsigned field, const char *text);
static inline unsigned char *acui_pb_literal(unsigned char *at, unsigned field, const char *text)
{
    size_t length = strlen(text);
    at = acui_pb_varint(acui_pb_key(at, field, 2), length);
    return (unsigned char *)memcpy(at, text, length) + length;
}

#endif
