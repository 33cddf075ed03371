/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Protocol buffers: what need not be inline. */
#include "base/protobuf.h"

#include "base/alloc.h"

unsigned char *acui_pb_grow(acui_pb *pb, size_t bytes)
{
    size_t room = 2 * pb->room > pb->used + bytes + 4096 ? 2 * pb->room : pb->used + bytes + 4096;
    unsigned char *data = acui_grow_raw(pb->data, pb->used, room);
    if (!data) {
        pb->failed = true;
        return NULL;
    }
    pb->data = data;
    pb->room = room;
    return pb->data + pb->used;
}

/* How many bytes the valid character at `s` has; 0: there is none. */
static size_t character(const unsigned char *s, const unsigned char *end)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
             : s[0] >= 0xe0 && s[0] < 0xf0                   ? 3
             : s[0] >= 0xf0 && s[0] < 0xf5                   ? 4
                                                             : 0;
    if (n > (size_t)(end - s))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
               (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90);
    return bad ? 0 : n;
}

static bool is_ascii(const unsigned char *text, size_t length)
{
    uint64_t all = 0, word;
    unsigned rest = 0;
    for (; length >= sizeof word; length -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        all |= word;
    }
    while (length)
        rest |= text[--length];
    return !(all & UINT64_C(0x8080808080808080)) && !(rest & 0x80);
}

/* What is no character becomes a question mark. */
static void mend(unsigned char *text, size_t length)
{
    const unsigned char *end = text + length;
    for (unsigned char *s = text; s < end;) {
        size_t n = character(s, end);
        if (!n)
            *s = '?';
        s += n ? n : 1;
    }
}

unsigned char *acui_pb_text(unsigned char *at, unsigned field, const char *text)
{
    unsigned char *end = acui_pb_literal(at, field, text);
    size_t length = strlen(text);
    if (!is_ascii(end - length, length))
        mend(end - length, length);
    return end;
}

void acui_pb_free(acui_pb *pb)
{
    acui_free(pb->data);
    *pb = (acui_pb){.data = NULL};
}
