/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * LZMA: what is unpacked is literals and copies of what came before, each told by bits that a range
 * coder decodes by how probable they are; the probabilities adapt. Copies mostly name one of the
 * last four distances. In the file there are chunks of up to 2 MiB of that (LZMA2), or of bytes as
 * they are.
 */
#include "base/unpack.h"

#include <stdint.h>
#include <string.h>

enum {
    STEPS = 12,     /* what the last few items were, as far as it matters */
    PLACES = 16,    /* places that probabilities distinguish, at most */
    LITERALS = 8,   /* contexts of literals, at most: 2^(lc + lp) */
    LITERAL = 768,  /* probabilities for one */
    EVEN = 1024     /* a probability of one half */
};

typedef uint16_t chance; /* that a bit is 0, of 2048 */

typedef struct lengths {
    chance is_long, is_longer, low[PLACES][8], middle[PLACES][8], high[256];
} lengths;

typedef struct chances {
    chance is_copy[STEPS][PLACES], is_known[STEPS], is_other[STEPS], is_second_other[STEPS],
        is_third_other[STEPS], is_more[STEPS][PLACES];
    chance slot[4][64], distance[115], lowest[16];
    lengths copy, known;
    chance literal[LITERALS * LITERAL];
} chances;

typedef struct stream {
    const uint8_t *in;
    size_t end, at; /* of the chunk; the next byte */
    uint8_t *out;
    size_t room, done;
    bool bad; /* sticky; reads then give 0 */
    uint32_t range, code;
    unsigned step, lc, lp, pb;
    size_t last[4]; /* distances, less 1 */
    chances p;
} stream;

/* ---- bits ------------------------------------------------------------------------------------ */

static unsigned next_byte(stream *s)
{
    if (s->at < s->end)
        return s->in[s->at++];
    s->bad = true;
    return 0;
}

static void refill(stream *s)
{
    if (s->range >= (uint32_t)1 << 24)
        return;
    s->range <<= 8;
    s->code = s->code << 8 | next_byte(s);
}

static unsigned bit(stream *s, chance *p)
{
    refill(s);
    uint32_t bound = (s->range >> 11) * *p;
    if (s->code < bound) {
        s->range = bound;
        *p = (chance)(*p + ((2048 - *p) >> 5));
        return 0;
    }
    s->range -= bound;
    s->code -= bound;
    *p = (chance)(*p - (*p >> 5));
    return 1;
}

/* n bits, the highest first; each has probabilities by those before it. */
static unsigned number(stream *s, chance *p, int n)
{
    unsigned m = 1;
    for (int i = 0; i < n; i++)
        m = m << 1 | bit(s, &p[m]);
    return m - (1u << n);
}

/* The lowest first. */
static unsigned turned(stream *s, chance *p, int n)
{
    unsigned m = 1, value = 0;
    for (int i = 0; i < n; i++) {
        unsigned b = bit(s, &p[m]);
        m = m << 1 | b;
        value |= b << i;
    }
    return value;
}

/* n bits that are 0 or 1 alike. */
static uint32_t plain(stream *s, int n)
{
    uint32_t value = 0;
    for (int i = 0; i < n; i++) {
        refill(s);
        s->range >>= 1;
        unsigned b = s->code >= s->range;
        s->code -= b ? s->range : 0;
        value = value << 1 | b;
    }
    return value;
}

/* ---- items ----------------------------------------------------------------------------------- */

static void literal(stream *s)
{
    unsigned before = s->done ? s->out[s->done - 1] : 0, value = 1;
    size_t low = s->done & (((size_t)1 << s->lp) - 1);
    chance *p = s->p.literal + LITERAL * (low << s->lc | before >> (8 - s->lc));
    if (s->step >= 7) { /* it differs from what the last copy would have gone on with */
        unsigned other = s->out[s->done - s->last[0] - 1], same = 1;
        while (same && value < 256) {
            unsigned expected = other >> 7 & 1, b = bit(s, &p[((1 + expected) << 8) + value]);
            other <<= 1;
            value = value << 1 | b;
            same = b == expected;
        }
    }
    while (value < 256)
        value = value << 1 | bit(s, &p[value]);
    s->out[s->done++] = (uint8_t)value;
    s->step = s->step < 4 ? 0 : s->step < 10 ? s->step - 3 : s->step - 6;
}

static size_t length(stream *s, lengths *l, size_t place)
{
    if (!bit(s, &l->is_long))
        return 2 + number(s, l->low[place], 3);
    if (!bit(s, &l->is_longer))
        return 10 + number(s, l->middle[place], 3);
    return 18 + number(s, l->high, 8);
}

static size_t distance(stream *s, size_t copied)
{
    unsigned slot = number(s, s->p.slot[copied < 5 ? copied - 2 : 3], 6);
    if (slot < 4)
        return slot;
    int n = (int)(slot >> 1) - 1;
    size_t high = (size_t)(2 | (slot & 1)) << n;
    if (slot < 14)
        return high + turned(s, s->p.distance + high - slot, n);
    high += (size_t)plain(s, n - 4) << 4;
    return high + turned(s, s->p.lowest, 4);
}

/* Makes the i-th of the last distances the first. */
static void again(stream *s, int i)
{
    size_t d = s->last[i];
    for (; i > 0; i--)
        s->last[i] = s->last[i - 1];
    s->last[0] = d;
}

/* How much to copy, from s->last[0]. */
static size_t read_copy(stream *s, size_t place)
{
    unsigned step = s->step;
    if (!bit(s, &s->p.is_known[step])) {
        size_t n = length(s, &s->p.copy, place);
        again(s, 3);
        s->last[0] = distance(s, n);
        s->step = step < 7 ? 7 : 10;
        return n;
    }
    if (bit(s, &s->p.is_other[step])) {
        again(s, !bit(s, &s->p.is_second_other[step])  ? 1
                 : !bit(s, &s->p.is_third_other[step]) ? 2
                                                       : 3);
    } else if (!bit(s, &s->p.is_more[step][place])) {
        s->step = step < 7 ? 9 : 11;
        return 1;
    }
    s->step = step < 7 ? 8 : 11;
    return length(s, &s->p.known, place);
}

/* Decodes until `until` bytes are there. */
static void items(stream *s, size_t until)
{
    while (s->done < until && !s->bad) {
        size_t place = s->done & (((size_t)1 << s->pb) - 1);
        if (!bit(s, &s->p.is_copy[s->step][place])) {
            literal(s);
            continue;
        }
        size_t n = read_copy(s, place), back = s->last[0];
        if (back >= s->done || n > until - s->done) {
            s->bad = true;
            return;
        }
        for (; n > 0; n--, s->done++)
            s->out[s->done] = s->out[s->done - back - 1];
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void reset(stream *s)
{
    chance *p = (chance *)&s->p;
    for (size_t i = 0; i < sizeof s->p / sizeof *p; i++)
        p[i] = EVEN;
    memset(s->last, 0, sizeof s->last);
    s->step = 0;
}

/* lc + 9 (lp + 5 pb) */
static void properties(stream *s, unsigned byte)
{
    s->lc = byte % 9;
    s->lp = byte / 9 % 5;
    s->pb = byte / 45;
    s->bad = s->bad || s->lc + s->lp > 3 || s->pb > 4;
}

static size_t two_bytes(stream *s)
{
    size_t high = next_byte(s);
    return high << 8 | next_byte(s);
}

static void stored_chunk(stream *s)
{
    size_t n = two_bytes(s) + 1;
    if (n > s->end - s->at || n > s->room - s->done) {
        s->bad = true;
        return;
    }
    memcpy(s->out + s->done, s->in + s->at, n);
    s->at += n;
    s->done += n;
}

static void packed_chunk(stream *s, unsigned control)
{
    const size_t end = s->end, n = ((control & 31u) << 16) + two_bytes(s) + 1;
    const size_t packed = two_bytes(s) + 1;
    if (control >= 0xc0)
        properties(s, next_byte(s));
    if (control >= 0xa0)
        reset(s);
    if (s->bad || packed > end - s->at || n > s->room - s->done) {
        s->bad = true;
        return;
    }
    s->end = s->at + packed;
    size_t after = s->end;
    s->range = UINT32_MAX;
    s->code = 0;
    for (int i = 0; i < 5; i++)
        s->code = s->code << 8 | next_byte(s);
    items(s, s->done + n);
    s->at = after;
    s->end = end;
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { HEADER = 12, FOOTER = 12 };

static uint32_t word_at(const uint8_t *in)
{
    return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* Seven bits a byte, the lowest first, the last byte without the highest bit. */
static uint64_t long_number(stream *s)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 63; shift += 7) {
        unsigned byte = next_byte(s);
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    s->bad = true;
    return 0;
}

size_t acui_packed_size(const void *packed, size_t bytes)
{
    const uint8_t *in = packed;
    if (bytes < HEADER + FOOTER + 8 || memcmp(in, "\xfd" "7zXZ", 6) != 0 ||
        memcmp(in + bytes - 2, "YZ", 2) != 0)
        return 0;
    uint64_t index = ((uint64_t)word_at(in + bytes - 8) + 1) * 4;
    if (index > bytes - HEADER - FOOTER)
        return 0;
    stream s;
    s.in = in;
    s.at = bytes - FOOTER - (size_t)index;
    s.end = bytes - FOOTER;
    s.bad = false;
    bool one = next_byte(&s) == 0 && long_number(&s) == 1;
    long_number(&s); /* the size of the packed block */
    uint64_t size = long_number(&s);
    return one && !s.bad && size <= SIZE_MAX ? (size_t)size : 0;
}

bool acui_unpack(const void *packed, size_t bytes, void *to, size_t room)
{
    stream s;
    const uint8_t *in = packed;
    if (acui_packed_size(packed, bytes) != room || room == 0)
        return false;
    const uint8_t *block = in + HEADER; /* its length, flags, and the filter: LZMA2 */
    size_t skip = ((size_t)block[0] + 1) * 4;
    if (block[1] != 0 || block[2] != 0x21 || skip > bytes - HEADER - FOOTER)
        return false;
    s.in = in;
    s.at = HEADER + skip;
    s.end = bytes - FOOTER;
    s.out = to;
    s.room = room;
    s.done = 0;
    s.lc = s.lp = s.pb = 0;
    s.bad = false;
    reset(&s);
    for (unsigned control; !s.bad && (control = next_byte(&s)) != 0;)
        if (control >= 0x80)
            packed_chunk(&s, control);
        else
            stored_chunk(&s);
    return !s.bad && s.done == room;
}
