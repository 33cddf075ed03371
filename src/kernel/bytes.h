/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes that grow, and pieces that are preceded by their length: requests and files consist of
 * these. */
#ifndef ACUI_KERNEL_BYTES_H
#define ACUI_KERNEL_BYTES_H

#include <acuda/base.h>

typedef struct acui_bytes {
    char *data; /* from acui_alloc */
    size_t count, room;
    bool failed; /* memory ran out; stays set */
} acui_bytes;

void acui_bytes_put(acui_bytes *bytes, const void *data, size_t count);
void acui_bytes_put_number(acui_bytes *bytes, uint64_t number);
/* Append the text with its length before it and a NUL behind it. NULL counts as "". */
void acui_bytes_put_text(acui_bytes *bytes, const char *text);
void acui_bytes_put_piece(acui_bytes *bytes, const char *text, size_t length);
void acui_bytes_free(acui_bytes *bytes);

/* Read what was put, from *at on, which moves forward; false, or NULL, if that is not there. */
bool acui_bytes_number(const char *data, size_t count, size_t *at, uint64_t *number);
const char *acui_bytes_text(const char *data, size_t count, size_t *at, size_t *length);

/* A hash of 128 bits for tables and file names; it does not resist somebody who wants a
 * collision. */
typedef struct acui_hash {
    uint64_t word[2];
} acui_hash;
acui_hash acui_bytes_hash(const void *data, size_t count);

#endif
