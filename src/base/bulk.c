/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copying past the cache, on machines that have stores for that. */
#include "base/bulk.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

enum { LINE = 64, AHEAD = 16 * LINE };

/* `dst` is at the start of a cache line. */
static void stream_lines(char *dst, const char *src, size_t lines)
{
    for (; lines > 0; lines--, dst += LINE, src += LINE) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)src);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(src + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(src + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(src + 48));
        _mm_prefetch(src + AHEAD, _MM_HINT_NTA);
        _mm_stream_si128((__m128i *)(void *)dst, a);
        _mm_stream_si128((__m128i *)(void *)(dst + 16), b);
        _mm_stream_si128((__m128i *)(void *)(dst + 32), c);
        _mm_stream_si128((__m128i *)(void *)(dst + 48), d);
    }
    _mm_sfence(); /* before any thread is told that the data is there */
}

static void copy_past_cache(char *dst, const char *src, size_t bytes)
{
    size_t head = (LINE - (uintptr_t)dst % LINE) % LINE;
    if (bytes < head + LINE) {
        memcpy(dst, src, bytes);
        return;
    }
    memcpy(dst, src, head);
    size_t lines = (bytes - head) / LINE, done = head + lines * LINE;
    stream_lines(dst + head, src + head, lines);
    memcpy(dst + done, src + done, bytes - done);
}
#else
static void copy_past_cache(char *dst, const char *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}
#endif

void acui_bulk_copy(void *dst, const void *src, size_t bytes, bool past_cache)
{
    if (past_cache)
        copy_past_cache(dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}
