/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Growing bytes, the numbers and texts in them, and their hash. */
#include "kernel/bytes.h"

#include "base/alloc.h"

#include <string.h>

void acui_bytes_put(acui_bytes *bytes, const void *data, size_t count)
{
    if (bytes->failed)
        return;
    if (count > bytes->room - bytes->count) {
        size_t room = 2 * bytes->room + count + 256;
        char *grown = acui_alloc_raw(room);
        bytes->failed = !grown;
        if (!grown)
            return;
        if (bytes->count)
            memcpy(grown, bytes->data, bytes->count);
        acui_free(bytes->data);
        bytes->data = grown;
        bytes->room = room;
    }
    if (count)
        memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

void acui_bytes_put_number(acui_bytes *bytes, uint64_t number)
{
    acui_bytes_put(bytes, &number, sizeof number);
}

void acui_bytes_put_piece(acui_bytes *bytes, const char *text, size_t length)
{
    acui_bytes_put_number(bytes, length);
    acui_bytes_put(bytes, text, length);
    acui_bytes_put(bytes, "", 1);
}

void acui_bytes_put_text(acui_bytes *bytes, const char *text)
{
    acui_bytes_put_piece(bytes, text ? text : "", text ? strlen(text) : 0);
}

void acui_bytes_free(acui_bytes *bytes)
{
    acui_free(bytes->data);
    *bytes = (acui_bytes){0};
}

bool acui_bytes_number(const char *data, size_t count, size_t *at, uint64_t *number)
{
    if (count - *at < sizeof *number)
        return false;
    memcpy(number, data + *at, sizeof *number);
    *at += sizeof *number;
    return true;
}

const char *acui_bytes_text(const char *data, size_t count, size_t *at, size_t *length)
{
    uint64_t n;
    if (!acui_bytes_number(data, count, at, &n) || n >= count - *at || data[*at + n])
        return NULL;
    const char *text = data + *at;
    *at += n + 1;
    if (length)
        *length = n;
    return text;
}

/* ---- the hash: 16 bytes at a time into two words that are multiplied with odd constants ---- */

static uint64_t stir(uint64_t hash, uint64_t word, uint64_t odd)
{
    hash = (hash ^ word) * odd;
    return hash ^ hash >> 29;
}

acui_hash acui_bytes_hash(const void *data, size_t count)
{
    const char *at = data;
    uint64_t a = UINT64_C(0x243F6A8885A308D3) ^ count, b = UINT64_C(0x13198A2E03707344) + count;
    uint64_t pair[2];
    for (; count >= sizeof pair; at += sizeof pair, count -= sizeof pair) {
        memcpy(pair, at, sizeof pair);
        a = stir(a, pair[0], UINT64_C(0x9FB21C651E98DF25));
        b = stir(b, pair[1], UINT64_C(0xD6E8FEB86659FD93));
    }
    pair[0] = pair[1] = 0;
    if (count)
        memcpy(pair, at, count);
    for (int i = 0; i < 3; i++) {
        uint64_t was = a;
        a = stir(a, pair[0] + b, UINT64_C(0x9FB21C651E98DF25));
        b = stir(b, pair[1] + was, UINT64_C(0xD6E8FEB86659FD93));
    }
    return (acui_hash){{a, b}};
}
