/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* TurboJPEG as a library of vendor/, and a picture decoded by it. */
#include "jpeg/jpeg.h"

#include "base/error.h"

/* Its numbers. */
enum { TJ_RGB = 0, TJ_BGR = 1, TJ_GRAY = 6 };
enum { TJ_STOP_ON_WARNING = 8192, TJ_LIMIT_SCANS = 32768 };

typedef void *turbo;

/* X(field, symbol, result, parameters): those of version 2, which 3 has too. */
#define CALLS(X)                                                                                   \
    X(create, "tjInitDecompress", turbo, (void))                                                   \
    X(destroy, "tjDestroy", int, (turbo))                                                          \
    X(decode, "tjDecompress2", int,                                                                \
      (turbo, const unsigned char *data, unsigned long bytes, unsigned char *to, int width,        \
       int pitch, int height, int format, int flags))                                              \
    X(words, "tjGetErrorStr2", char *, (turbo))

static struct {
#define ACU_X(field, symbol, result, parameters) result(*field) parameters;
    CALLS(ACU_X)
#undef ACU_X
} turbo_jpeg;

static const acui_symbol symbols[] = {
#define ACU_X(field, symbol, result, parameters) {symbol, &turbo_jpeg.field},
    CALLS(ACU_X)
#undef ACU_X
};

acui_library acui_library_TURBOJPEG = {
    .find = {.words = "TurboJPEG",
             .stem = "libturbojpeg.so",
             .names = {"libturbojpeg.so.0", "libturbojpeg.so"}},
    .id = ACU_VENDOR_TURBOJPEG,
    .oldest = 2, /* which it does not say; but tjGetErrorStr2 is there since 2.0 */
    .with_12 = INT_MAX, /* it has nothing to do with CUDA */
    .with_13 = INT_MAX,
    .anywhere = true,
    .debian = true,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

static int format_of(acu_pixels pixels)
{
    return pixels == ACU_PIXELS_GRAY ? TJ_GRAY : pixels == ACU_PIXELS_BGR ? TJ_BGR : TJ_RGB;
}

acu_status acui_jpeg_by_turbo(acui_jpeg_file file, const acui_jpeg_wish *wish, void *to)
{
    turbo t = turbo_jpeg.create();
    if (!t)
        return acui_fail(ACU_ERR_NO_MEMORY, "%s: tjInitDecompress answered: %s", acui_jpeg_name,
                         turbo_jpeg.words(NULL));
    int failed = turbo_jpeg.decode(t, file.data, file.bytes, to, (int)wish->width, 0,
                                   (int)wish->height, format_of(wish->pixels),
                                   TJ_STOP_ON_WARNING | TJ_LIMIT_SCANS);
    acu_status st = failed ? acui_fail(ACU_ERR_INVALID, "%s: tjDecompress2 answered: %s",
                                       acui_jpeg_name, turbo_jpeg.words(t))
                           : ACU_OK;
    turbo_jpeg.destroy(t);
    return st;
}
