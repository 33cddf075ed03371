/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where pixels of a result lie in the source, along one axis; and acu_image_fit. */
#include "base/error.h"
#include "image/image.h"

/* floor and ceil, for numbers that fit into an int64_t (the library does without libm). */
static double floor_of(double x)
{
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1 : whole;
}
static double ceil_of(double x) { return -floor_of(-x); }

/* Half the width of a filter, in pixels of a source that is not made smaller. */
static double reach_of(acu_filter filter)
{
    switch (filter) {
    case ACU_CUBIC: return 2;
    case ACU_LANCZOS: return 3;
    case ACU_LANCZOS4: return 4;
    default: return 1;
    }
}

void acui_axis_set(acui_axis *axis, const acu_image_options *o, double from, double length,
                   int64_t size, int64_t begin, int64_t end)
{
    double count = (double)(end - begin), step = length / count, shift = 0.5, start = from - 0.5;
    bool nearest = o->filter == ACU_NEAREST, wide = o->antialias || o->filter == ACU_AREA;
    if (o->sampling == ACU_ALIGN_CORNERS) {
        step = count > 1 ? (length - 1) / (count - 1) : 0;
        shift = 0;
        start = nearest ? from + 0.5 : from;
    } else if (o->sampling == ACU_TOP_LEFT) {
        shift = 0;
        start = from;
    } else if (nearest) {
        start = from;
    }
    if (nearest) /* a place on the edge of a pixel stays there, however the step is rounded */
        start += 1e-9;
    double stretch = wide && step > 1 ? step : 1;
    *axis = (acui_axis){.start = start, .shift = shift, .step = step,
                        .reach = (float)(reach_of(o->filter) * stretch),
                        .shrink = (float)(1 / stretch), .begin = (int)begin, .end = (int)end};
    if (o->filter == ACU_AREA) {
        axis->reach = (float)((1 + step) / 2);
        axis->shrink = 1;
    }
    double first = floor_of(from), last = ceil_of(from + length) - 1;
    axis->first = first < 0 ? 0 : (int)first;
    axis->last = last > (double)(size - 1) ? (int)(size - 1) : (int)last;
}

double acui_axis_taps(const acui_axis *axis)
{
    return 2 * (double)axis->reach + 1;
}

acu_status acu_image_fit(acu_fit fit, double source_height, double source_width, int64_t height,
                         int64_t width, acu_region *from, acu_region *to)
{
    if (!from || !to)
        return acui_fail(ACU_ERR_INVALID, "acu_image_fit got NULL where a region should be");
    if (!(source_width > 0) || !(source_height > 0) || width <= 0 || height <= 0 ||
        source_width > ACUI_IMAGE_SIDE || source_height > ACUI_IMAGE_SIDE)
        return acui_fail(ACU_ERR_INVALID, "acu_image_fit of %g x %g pixels to %lld x %lld: sizes "
                         "must be positive, and at most %d", source_height, source_width,
                         (long long)height, (long long)width, ACUI_IMAGE_SIDE);
    double across = (double)width / source_width, down = (double)height / source_height;
    *from = (acu_region){0, 0, source_width, source_height};
    *to = (acu_region){0, 0, (double)width, (double)height};
    if (fit == ACU_LETTERBOX) {
        double scale = across < down ? across : down;
        double w = floor_of(source_width * scale + 0.5), h = floor_of(source_height * scale + 0.5);
        to->width = w < 1 ? 1 : w > (double)width ? (double)width : w;
        to->height = h < 1 ? 1 : h > (double)height ? (double)height : h;
        to->x = floor_of(((double)width - to->width) / 2);
        to->y = floor_of(((double)height - to->height) / 2);
    } else if (fit == ACU_COVER) {
        double scale = across > down ? across : down;
        from->width = (double)width / scale;
        from->height = (double)height / scale;
        if (from->width > source_width) /* by a rounding */
            from->width = source_width;
        if (from->height > source_height)
            from->height = source_height;
        from->x = (source_width - from->width) / 2;
        from->y = (source_height - from->height) / 2;
    } else if (fit != ACU_STRETCH) {
        return acui_fail(ACU_ERR_INVALID, "acu_image_fit knows no fit %d", (int)fit);
    }
    return ACU_OK;
}
