/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Protocol buffers: a key (field number and wire type), then a value. */
#include "base/protobuf.h"

#include "base/alloc.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 }; /* wire types */
enum { LENGTH = 4 }; /* bytes in which the length of a message is written */

static unsigned char *take(acui_pb *pb, size_t bytes)
{
    if (pb->room - pb->used < bytes) {
        size_t room = 2 * pb->room > pb->used + bytes + 4096 ? 2 * pb->room
                                                             : pb->used + bytes + 4096;
        unsigned char *data = acui_grow_raw(pb->data, pb->used, room);
        if (!data) {
            pb->failed = true;
            return NULL;
        }
        pb->data = data;
        pb->room = room;
    }
    unsigned char *at = pb->data + pb->used;
    pb->used += bytes;
    return at;
}

static void put_varint(acui_pb *pb, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (unsigned char)(value | 0x80);
    bytes[n++] = (unsigned char)value;
    unsigned char *at = take(pb, n);
    if (at)
        memcpy(at, bytes, n);
}

static void put_key(acui_pb *pb, unsigned field, unsigned type)
{
    put_varint(pb, field << 3 | type);
}

void acui_pb_uint(acui_pb *pb, unsigned field, uint64_t value)
{
    put_key(pb, field, VARINT);
    put_varint(pb, value);
}

void acui_pb_fixed64(acui_pb *pb, unsigned field, uint64_t value)
{
    put_key(pb, field, FIXED64);
    unsigned char *at = take(pb, 8);
    for (unsigned i = 0; at && i < 8; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* How many bytes the valid character at `s` has; 0: there is none. */
static size_t character(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
             : s[0] >= 0xe0 && s[0] < 0xf0                   ? 3
             : s[0] >= 0xf0 && s[0] < 0xf5                   ? 4
                                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
               (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90);
    return bad ? 0 : n;
}

void acui_pb_text(acui_pb *pb, unsigned field, const char *text)
{
    size_t length = strlen(text);
    put_key(pb, field, BYTES);
    put_varint(pb, length);
    unsigned char *at = take(pb, length);
    if (!at)
        return;
    memcpy(at, text, length);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t n = character(s);
        if (!n)
            at[(const char *)s - text] = '?';
        s += n ? n : 1;
    }
}

size_t acui_pb_open(acui_pb *pb, unsigned field)
{
    put_key(pb, field, BYTES);
    take(pb, LENGTH);
    return pb->used;
}

void acui_pb_close(acui_pb *pb, size_t opened)
{
    if (pb->failed)
        return;
    size_t length = pb->used - opened;
    unsigned char *at = pb->data + opened - LENGTH;
    for (unsigned i = 0; i < LENGTH; i++) /* as long as it can be: that is valid, too */
        at[i] = (unsigned char)((length >> 7 * i & 0x7f) | (i + 1 < LENGTH ? 0x80 : 0));
}

void acui_pb_free(acui_pb *pb)
{
    acui_free(pb->data);
    *pb = (acui_pb){.data = NULL};
}
