/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Unpacking what xz packed: the library's own kernels and headers are stored that way. One block,
 * LZMA2 without another filter and with the default number of literal contexts, which is what xz
 * and CMake write.
 */
#ifndef ACUI_BASE_UNPACK_H
#define ACUI_BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* The size of what is packed, from the end of the file; 0: it is no such file. */
size_t acui_packed_size(const void *packed, size_t bytes);
/* Unpack to `to`, which has room for exactly acui_packed_size. False: the data is broken. Checks
 * every access, not the checksum. Takes some 16 KiB of stack. */
bool acui_unpack(const void *packed, size_t bytes, void *to, size_t room);

#endif
