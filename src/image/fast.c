/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which samples the kernels of image_rows.cu make: three channels of bytes, in common layouts. */
#include "image/image.h"

#define FAR 0x7fffffff /* offsets in an image are of 32 bits there */

int acui_own_channels(const acui_sample *p)
{
    bool same = p->channels == 3 && p->out_channels == 3, other = same;
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++) {
            same = same && (k == c || p->mix[k][c] == 0);
            other = other && (k == 2 - c || p->mix[k][c] == 0);
        }
    return same ? 1 : other ? -1 : 0;
}

static bool is_near(const acui_plane *plane, int last_y, int last_x)
{
    return plane->row >= 0 && plane->row < FAR && plane->column < FAR &&
           last_y * plane->row + (last_x + 1) * plane->column < FAR;
}

/* Three bytes side by side. */
static bool is_rgb(const acui_image_source *s)
{
    return s->channel == 1 && s->plane[0].column == 3 && is_near(s->plane, s->y.last, s->x.last);
}

/* Luma, and chroma side by side in one tensor. */
static bool is_interleaved(const acui_sample *p, const acui_image_source *s)
{
    const acui_plane *u = &s->plane[1], *v = &s->plane[2];
    return s->plane[0].column == 1 && u->column == 2 && v->column == 2 && u->row == v->row &&
           s->pointer[1] == s->pointer[2] && u->offset - v->offset == (p->swapped ? 1 : -1) &&
           is_near(s->plane, s->y.last, s->x.last) && is_near(u, s->y.last, s->x.last);
}

/* Red has no U in it, blue no V. */
static bool is_usual(const acui_sample *p)
{
    return p->decode[0][1] == 0 && p->decode[2][2] == 0;
}

acui_fast acui_fast_sample(const acui_sample *p, const acui_image_source *table, int count)
{
    static const acui_fast rgb = {"rows_rgb", "rows_rgb_list", 1, 4};
    static const acui_fast yuv = {"rows_yuv", "rows_yuv_list", 1, 4};
    const int to = p->out_dtype;
    bool fits = p->dtype == ACU_U8 && p->own && p->filter == ACUI_FILTER_LINEAR && !p->drop &&
                (to == ACU_U8 || to == ACU_F16 || to == ACU_BF16 || to == ACU_F32) &&
                (!p->yuv || is_usual(p));
    for (int i = 0; fits && i < count; i++)
        fits = p->yuv ? is_interleaved(p, &table[i]) : is_rgb(&table[i]);
    return !fits ? (acui_fast){0} : p->yuv ? yuv : rgb;
}

/* Every pixel of the source is one of the result. */
static bool is_pixel_by_pixel(const acui_axis *a, int count, int64_t size)
{
    return a->step == 1 && a->start < 0.5 && a->begin == 0 && a->end == count && count == size;
}

/* Colours from 0 to 1 become bytes, and nothing else. */
static bool is_plain(const acui_sample *p)
{
    bool plain = p->own && p->out_dtype == ACU_U8;
    for (int k = 0; k < 3; k++)
        plain = plain && p->mix[k][p->own < 0 ? 2 - k : k] == 255 && p->mix[k][4] == 0;
    return plain;
}

bool acui_fast_planes(const acui_sample *p, int64_t width, int64_t height)
{
    const acui_plane *plane = p->one.plane;
    long long distances = plane[0].row | plane[1].row | p->out_row | width;
    if (p->images > 1)
        distances |= p->batch[0] | p->batch[1] | p->out_image;
    return p->dtype == ACU_U8 && is_plain(p) && p->yuv && is_usual(p) &&
           p->filter == ACUI_FILTER_NEAREST && is_pixel_by_pixel(&p->one.x, p->width, width) &&
           is_pixel_by_pixel(&p->one.y, p->height, height) && p->chroma_x == 1 &&
           is_interleaved(p, &p->one) && p->out_channel == 1 && p->out_column == 3 &&
           distances % 4 == 0;
}
