/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Protocol buffers: a key (field number and wire type), then a value. */
#include "base/protobuf.h"

#include "base/alloc.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 }; /* wire types */
enum { LENGTH = 4 }; /* bytes in which the length of a message is written */

enum { HEAD = 16 }; /* bytes at most of a key and a length, or a key and a number */

/* Room for so many bytes behind what is used; NULL: there is no memory. */
static inline unsigned char *room_for(acui_pb *pb, size_t bytes)
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
    return pb->data + pb->used;
}

static inline unsigned char *put_varint(unsigned char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

static inline unsigned char *put_key(unsigned char *at, unsigned field, unsigned type)
{
    return put_varint(at, field << 3 | type);
}

static inline void done(acui_pb *pb, const unsigned char *end)
{
    pb->used = (size_t)(end - pb->data);
}

void acui_pb_uint(acui_pb *pb, unsigned field, uint64_t value)
{
    unsigned char *at = room_for(pb, HEAD);
    if (at)
        done(pb, put_varint(put_key(at, field, VARINT), value));
}

void acui_pb_fixed64(acui_pb *pb, unsigned field, uint64_t value)
{
    unsigned char *at = room_for(pb, HEAD);
    if (!at)
        return;
    at = put_key(at, field, FIXED64);
    for (unsigned i = 0; i < 8; i++)
        *at++ = (unsigned char)(value >> 8 * i);
    done(pb, at);
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

/* What is no character becomes a question mark. */
static void mend(unsigned char *text, const char *from)
{
    for (const unsigned char *s = (const unsigned char *)from; *s;) {
        size_t n = character(s);
        if (!n)
            text[(const char *)s - from] = '?';
        s += n ? n : 1;
    }
}

void acui_pb_text(acui_pb *pb, unsigned field, const char *text)
{
    size_t length = strlen(text);
    unsigned char *at = room_for(pb, HEAD + length), high = 0;
    if (!at)
        return;
    at = put_varint(put_key(at, field, BYTES), length);
    memcpy(at, text, length);
    for (size_t i = 0; i < length; i++)
        high |= at[i];
    if (high & 0x80)
        mend(at, text);
    done(pb, at + length);
}

size_t acui_pb_open(acui_pb *pb, unsigned field)
{
    unsigned char *at = room_for(pb, HEAD);
    if (at)
        done(pb, put_key(at, field, BYTES) + LENGTH);
    return pb->used;
}

void acui_pb_close(acui_pb *pb, size_t opened)
{
    if (pb->failed)
        return;
    size_t length = pb->used - opened;
    unsigned char *at = pb->data + opened - LENGTH;
    at[0] = (unsigned char)(length | 0x80); /* as long as it can be: that is valid, too */
    at[1] = (unsigned char)(length >> 7 | 0x80);
    at[2] = (unsigned char)(length >> 14 | 0x80);
    at[3] = (unsigned char)(length >> 21 & 0x7f);
}

void acui_pb_free(acui_pb *pb)
{
    acui_free(pb->data);
    *pb = (acui_pb){.data = NULL};
}
