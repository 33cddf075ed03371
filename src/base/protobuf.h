/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Writing protocol buffers' wire format: as much of it as a trace needs (trace.h). A message is a
 * list of fields, each a key (its number, and how its value is written) and a value. Numbers of
 * fields are below 2048. What is written for each event is inline: a trace writes millions.
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

enum { ACUI_PB_VARINT = 0, ACUI_PB_FIXED64 = 1, ACUI_PB_BYTES = 2 }; /* how values are written */
enum { ACUI_PB_LENGTH = 4 }; /* bytes in which the length of a message is written */
enum { ACUI_PB_HEAD = 16 };  /* bytes at most of a key and a length, or a key and a number */

unsigned char *acui_pb_grow(acui_pb *pb, size_t bytes);

/* Room for so many bytes behind what is used; NULL: there is no memory. */
static inline unsigned char *acui_pb_room(acui_pb *pb, size_t bytes)
{
    return pb->room - pb->used >= bytes ? pb->data + pb->used : acui_pb_grow(pb, bytes);
}

static inline unsigned char *acui_pb_varint(unsigned char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

static inline unsigned char *acui_pb_key(unsigned char *at, unsigned field, unsigned type)
{
    unsigned key = field << 3 | type;
    if (key >= 0x80)
        *at++ = (unsigned char)(key | 0x80);
    *at++ = (unsigned char)(key >= 0x80 ? key >> 7 : key);
    return at;
}

static inline void acui_pb_uint(acui_pb *pb, unsigned field, uint64_t value) /* enums, bool too */
{
    unsigned char *at = acui_pb_room(pb, ACUI_PB_HEAD);
    if (at)
        pb->used = (size_t)(acui_pb_varint(acui_pb_key(at, field, ACUI_PB_VARINT), value) -
                            pb->data);
}

void acui_pb_fixed64(acui_pb *pb, unsigned field, uint64_t value);
void acui_pb_mend(unsigned char *text, size_t length); /* made valid UTF-8, if it is not */

static inline void acui_pb_text(acui_pb *pb, unsigned field, const char *text)
{
    size_t length = strlen(text);
    unsigned char *at = acui_pb_room(pb, ACUI_PB_HEAD + length);
    if (!at)
        return;
    at = acui_pb_varint(acui_pb_key(at, field, ACUI_PB_BYTES), length);
    memcpy(at, text, length);
    acui_pb_mend(at, length);
    pb->used = (size_t)(at + length - pb->data);
}

/* A message inside the message: what is written between these two belongs to it. Messages nest; one
 * has less than 256 MiB. */
static inline size_t acui_pb_open(acui_pb *pb, unsigned field)
{
    unsigned char *at = acui_pb_room(pb, ACUI_PB_HEAD);
    if (at)
        pb->used = (size_t)(acui_pb_key(at, field, ACUI_PB_BYTES) + ACUI_PB_LENGTH - pb->data);
    return pb->used;
}

static inline void acui_pb_close(acui_pb *pb, size_t opened)
{
    if (pb->failed)
        return;
    size_t length = pb->used - opened;
    unsigned char *at = pb->data + opened - ACUI_PB_LENGTH;
    at[0] = (unsigned char)(length | 0x80); /* as long as it can be: that is valid, too */
    at[1] = (unsigned char)(length >> 7 | 0x80);
    at[2] = (unsigned char)(length >> 14 | 0x80);
    at[3] = (unsigned char)(length >> 21 & 0x7f);
}

void acui_pb_free(acui_pb *pb);

#endif
