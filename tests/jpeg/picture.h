/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The picture that is in the files of pictures.h, by the formula that make_pictures.py has. */
#ifndef ACUDA_TESTS_JPEG_PICTURE_H
#define ACUDA_TESTS_JPEG_PICTURE_H

/* Red, green, blue. */
static inline int picture_at(int x, int y, int channel)
{
    return channel == 0 ? 10 * x : channel == 1 ? 13 * y : 60 + 3 * x + 4 * y;
}

static inline int picture_luma(int x, int y)
{
    return (299 * picture_at(x, y, 0) + 587 * picture_at(x, y, 1) + 114 * picture_at(x, y, 2)) /
           1000;
}

#endif
