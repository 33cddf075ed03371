/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unpacking what gzip packed (RFC 1952, RFC 1951): the library's own kernels are stored that way.
 * */
#ifndef ACUI_BASE_INFLATE_H
#define ACUI_BASE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

/* The size of what is packed (below 4 GiB), from the end of the file; 0: it is no gzip file. */
size_t acui_packed_size(const void *packed, size_t bytes);
/* Unpack to `to`, which has room for exactly acui_packed_size. False: the data is broken. Checks
 * every access, not the checksum. */
bool acui_unpack(const void *packed, size_t bytes, void *to, size_t room);

#endif
