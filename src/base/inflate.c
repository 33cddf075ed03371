/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Inflate. Codes are canonical: of each length, they are consecutive numbers in the order of the
 * symbols, so a table of how many symbols have each length, and the symbols in that order, decode
 * them bit by bit.
 */
#include "base/inflate.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 15, LITERALS = 288, DISTANCES = 30, LENGTHS = 29, END = 256 };

typedef struct stream {
    const uint8_t *in;
    size_t in_bytes, at; /* at: the next byte */
    uint32_t bits;       /* that were read and not used, the next one lowest */
    int count;
    uint8_t *out;
    size_t room, done;
    bool bad; /* sticky; reads then give 0 */
} stream;

typedef struct code {
    uint16_t count[LONGEST + 1]; /* of symbols of that length */
    uint16_t symbol[LITERALS];   /* in order */
} code;

static unsigned take(stream *s, int n)
{
    while (s->count < n) {
        if (s->at >= s->in_bytes) {
            s->bad = true;
            return 0;
        }
        s->bits |= (uint32_t)s->in[s->at++] << s->count;
        s->count += 8;
    }
    unsigned value = s->bits & (((uint32_t)1 << n) - 1);
    s->bits >>= n;
    s->count -= n;
    return value;
}

/* Codes of these lengths; 0: the symbol does not occur. */
static void make(code *c, const uint8_t *lengths, int symbols)
{
    uint16_t next[LONGEST + 2] = {0};
    memset(c->count, 0, sizeof c->count);
    for (int i = 0; i < symbols; i++)
        c->count[lengths[i]]++;
    c->count[0] = 0;
    for (int length = 1; length <= LONGEST; length++)
        next[length + 1] = (uint16_t)(next[length] + c->count[length]);
    for (int i = 0; i < symbols; i++)
        if (lengths[i])
            c->symbol[next[lengths[i]]++] = (uint16_t)i;
}

static unsigned decode(stream *s, const code *c)
{
    int value = 0, first = 0, before = 0; /* of this length: the first code; symbols before it */
    for (int length = 1; length <= LONGEST && !s->bad; length++) {
        value |= (int)take(s, 1);
        int count = c->count[length];
        if (value - first < count)
            return c->symbol[before + value - first];
        before += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    s->bad = true;
    return END;
}

static void put(stream *s, uint8_t byte)
{
    if (s->done < s->room)
        s->out[s->done++] = byte;
    else
        s->bad = true;
}

/* A repetition of earlier bytes. */
static void repeat(stream *s, unsigned symbol, const code *distances)
{
    static const uint16_t length_base[LENGTHS] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                                  15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                                  67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[LENGTHS] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    if (symbol - END - 1 >= LENGTHS) {
        s->bad = true;
        return;
    }
    unsigned length = length_base[symbol - END - 1] + take(s, length_bits[symbol - END - 1]);
    unsigned place = decode(s, distances);
    if (place >= DISTANCES) {
        s->bad = true;
        return;
    }
    /* two distances for each number of further bits, but four for none */
    int more = place < 4 ? 0 : (int)place / 2 - 1;
    size_t distance = place < 4 ? place + 1 : ((size_t)(2 + place % 2) << more) + 1;
    distance += take(s, more);
    if (distance > s->done) {
        s->bad = true;
        return;
    }
    while (length-- && !s->bad)
        put(s, s->out[s->done - distance]);
}

static void coded(stream *s, const code *literals, const code *distances)
{
    while (!s->bad) {
        unsigned symbol = decode(s, literals);
        if (symbol == END)
            return;
        if (symbol < END)
            put(s, (uint8_t)symbol);
        else
            repeat(s, symbol, distances);
    }
}

static void fixed(stream *s)
{
    uint8_t lengths[LITERALS];
    code literals, distances;
    for (int i = 0; i < LITERALS; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make(&literals, lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    make(&distances, lengths, DISTANCES);
    coded(s, &literals, &distances);
}

/* The block begins with its codes, whose lengths are coded too. */
static void dynamic(stream *s)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LITERALS + 32] = {0};
    code literals, distances;
    int of_literals = (int)take(s, 5) + 257, of_distances = (int)take(s, 5) + 1;
    int of_lengths = (int)take(s, 4) + 4, all = of_literals + of_distances;
    for (int i = 0; i < of_lengths; i++)
        lengths[order[i]] = (uint8_t)take(s, 3);
    make(&literals, lengths, sizeof order);
    memset(lengths, 0, sizeof lengths);
    for (int i = 0; i < all && !s->bad;) {
        unsigned symbol = decode(s, &literals);
        int times = symbol < 16    ? 1
                    : symbol == 16 ? 3 + (int)take(s, 2)
                    : symbol == 17 ? 3 + (int)take(s, 3)
                                   : 11 + (int)take(s, 7);
        uint8_t length = symbol < 16 ? (uint8_t)symbol : symbol == 16 && i ? lengths[i - 1] : 0;
        s->bad = s->bad || i + times > all || of_literals > LITERALS || (symbol == 16 && i == 0);
        while (times-- && !s->bad)
            lengths[i++] = length;
    }
    if (s->bad)
        return;
    make(&literals, lengths, of_literals);
    make(&distances, lengths + of_literals, of_distances);
    coded(s, &literals, &distances);
}

static void stored(stream *s)
{
    s->bits = 0; /* the rest of the byte */
    s->count = 0;
    unsigned length = take(s, 16);
    if (take(s, 16) != (~length & 0xffff))
        s->bad = true;
    while (length-- && !s->bad)
        put(s, (uint8_t)take(s, 8));
}

/* ---- the file -------------------------------------------------------------------------------- */

enum { HEAD = 10, TAIL = 8 };

size_t acui_packed_size(const void *packed, size_t bytes)
{
    const uint8_t *in = packed;
    if (bytes < HEAD + TAIL || in[0] != 0x1f || in[1] != 0x8b || in[2] != 8)
        return 0;
    const uint8_t *end = in + bytes - 4;
    return end[0] | (size_t)end[1] << 8 | (size_t)end[2] << 16 | (size_t)end[3] << 24;
}

/* Where the data begins, behind what may be in the header. */
static size_t skip_head(const uint8_t *in, size_t bytes)
{
    size_t at = HEAD;
    if (in[3] & 4)
        at += 2 + (in[at] | (size_t)in[at + 1] << 8);
    for (int flag = 8; flag <= 16; flag *= 2) /* a name, a comment */
        if (in[3] & flag) {
            while (at < bytes && in[at])
                at++;
            at++;
        }
    return at + (in[3] & 2 ? 2 : 0);
}

bool acui_unpack(const void *packed, size_t bytes, void *to, size_t room)
{
    if (acui_packed_size(packed, bytes) != room)
        return false;
    stream s = {.in = packed, .in_bytes = bytes - TAIL, .out = to, .room = room};
    s.at = skip_head(packed, bytes);
    bool last = false;
    while (!last && !s.bad) {
        last = take(&s, 1);
        unsigned kind = take(&s, 2);
        if (kind == 0)
            stored(&s);
        else if (kind == 1)
            fixed(&s);
        else if (kind == 2)
            dynamic(&s);
        else
            s.bad = true;
    }
    return !s.bad && s.done == room;
}
