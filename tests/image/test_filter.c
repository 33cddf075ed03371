/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters beside a reference in double: separable ones, medians, bilateral, morphology. */
#include "image/pictures.h"

#include <acuda/image_filters.h>

#include "support/one_device.h"

#include <stdio.h>

/* ---- reference ----------------------------------------------------------------------------- */

/* Walks from pixel to pixel, and turns at the edge. */
static int beyond(acu_border border, int i, int n)
{
    if (border == ACU_BORDER_CONSTANT)
        return i < 0 || i >= n ? -1 : i;
    if (border == ACU_BORDER_REPLICATE)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    while (border == ACU_BORDER_WRAP && (i < 0 || i >= n))
        i += i < 0 ? n : -n;
    while (i < 0 || i >= n) {
        if (border == ACU_BORDER_REFLECT_101 && n == 1)
            return 0;
        int edge = border == ACU_BORDER_REFLECT ? 1 : 0;
        i = i < 0 ? -i - edge : 2 * n - 2 + edge - i;
    }
    return i;
}

static double at(const picture *p, const acu_image_options *o, int n, int y, int x, int c)
{
    y = beyond(o->border, y, p->h);
    x = beyond(o->border, x, p->w);
    return y < 0 || x < 0 ? (double)o->pad[c] : *pixel(p, n, y, x, c);
}

static picture correlate(const picture *p, const acu_image_options *o, const float *across, int w,
                         const float *down, int h)
{
    picture to = picture_new(p->n, p->h, p->w, p->c);
    EACH_PIXEL(p) {
        double sum = 0;
        for (int j = 0; j < h; j++)
            for (int i = 0; i < w; i++)
                sum += (double)across[i] * (double)down[j] *
                       at(p, o, n, y + j - h / 2, x + i - w / 2, c);
        *pixel(&to, n, y, x, c) = sum;
    }
    return to;
}

static const acu_dtype dtypes[] = {ACU_U8, ACU_U16, ACU_F16, ACU_BF16, ACU_F32};

/* Runs what `make` makes of a random picture, which is freed. */
static void check(acu_op *(*make)(acu_tensor *x, const acu_image_options *o, int turn),
                  picture (*reference)(const picture *p, const acu_image_options *o, int turn),
                  const acu_image_options *given, int turn, double most)
{
    acu_image_options o = *given;
    acu_dtype dtype = dtypes[turn % 5];
    o.size = sizeof o;
    o.layout = turn % 2 ? ACU_CHW : ACU_HWC;
    int rank = 2 + turn % 3;
    picture p = picture_noise(rank == 4 ? 2 : 1, 1 + (int)test_below(&numbers, 37),
                              1 + (int)test_below(&numbers, 40),
                              rank == 2 ? 1 : 1 + (int)test_below(&numbers, 4), dtype);
    acu_tensor *x = picture_upload(device, &p, dtype, o.layout, rank, turn % 2), *made = NULL;
    picture want = reference(&p, &o, turn);
    assert_works(acu_sync(device, make(x, &o, turn), &made));
    char what[64];
    snprintf(what, sizeof what, "turn %d, %s of %d x %d", turn, acu_dtype_name(dtype), p.h, p.w);
    assert_picture(made, &want, o.layout, most, what);
    acu_tensor_release(x);
    acu_tensor_release(made);
    free(p.at);
    free(want.at);
}

/* ---- separable ----------------------------------------------------------------------------- */

static const float weights[63] = {0.25f, -0.5f, 1, 0.5f, -0.25f, 0.125f, 0.75f};

static acu_op *separable(acu_tensor *x, const acu_image_options *o, int turn)
{
    return acu_filter_separable(x, weights, 1 + 2 * (turn % 4), weights + 1, 1 + 2 * (turn % 3), o);
}
static picture separable_reference(const picture *p, const acu_image_options *o, int turn)
{
    return correlate(p, o, weights, 1 + 2 * (turn % 4), weights + 1, 1 + 2 * (turn % 3));
}

static void separable_filters(void **state)
{
    (void)state;
    for (int turn = 0; turn < 15; turn++) {
        acu_image_options o = {.border = (acu_border)(ACU_BORDER_CONSTANT + turn % 5),
                               .pad = {0.5f, 1, 2, 3}};
        check(separable, separable_reference, &o, turn, 1e-3);
    }
}

static acu_op *large(acu_tensor *x, const acu_image_options *o, int turn)
{
    (void)turn;
    return acu_box_blur(x, 63, 61, o);
}
static picture large_reference(const picture *p, const acu_image_options *o, int turn)
{
    float even[63];
    (void)turn;
    for (int i = 0; i < 63; i++)
        even[i] = 1;
    picture sum = correlate(p, o, even, 61, even, 63);
    EACH_PIXEL(&sum)
        *pixel(&sum, n, y, x, c) /= 61 * 63;
    return sum;
}

static acu_op *gaussian(acu_tensor *x, const acu_image_options *o, int turn)
{
    return acu_gaussian_blur(x, 5, 7, 0.7 + turn % 4, o);
}
static picture gaussian_reference(const picture *p, const acu_image_options *o, int turn)
{
    float across[7], down[5];
    double sigma = 0.7 + turn % 4, sum = 0, other = 0;
    for (int i = 0; i < 7; i++)
        sum += exp(-(i - 3) * (i - 3) / (2 * sigma * sigma));
    for (int i = 0; i < 5; i++)
        other += exp(-(i - 2) * (i - 2) / (2 * sigma * sigma));
    for (int i = 0; i < 7; i++)
        across[i] = (float)(exp(-(i - 3) * (i - 3) / (2 * sigma * sigma)) / sum);
    for (int i = 0; i < 5; i++)
        down[i] = (float)(exp(-(i - 2) * (i - 2) / (2 * sigma * sigma)) / other);
    return correlate(p, o, across, 7, down, 5);
}

static void blurs(void **state)
{
    (void)state;
    const acu_image_options o = {.border = ACU_BORDER_REFLECT_101};
    for (int turn = 0; turn < 5; turn++) {
        check(gaussian, gaussian_reference, &o, turn, 1e-4);
        if (turn < 2)
            check(large, large_reference, &o, turn, 1e-4);
    }
}

static void sobels(void **state)
{
    (void)state;
    /* 1 2 1 and -1 0 1, by hand; of size 5, and second derivatives. */
    static const float smooth[2][5] = {{1, 2, 1}, {1, 4, 6, 4, 1}};
    static const float first[2][5] = {{-1, 0, 1}, {-1, -2, 0, 2, 1}};
    static const float second[2][5] = {{1, -2, 1}, {1, 0, -2, 0, 1}};
    picture p = picture_noise(1, 9, 11, 2, ACU_U8);
    acu_tensor *image = picture_upload(device, &p, ACU_U8, ACU_HWC, 3, 1), *made = NULL;
    for (int turn = 0; turn < 6; turn++) {
        const acu_image_options o = {.size = sizeof o, .dtype = ACU_F32,
                                     .border = ACU_BORDER_REFLECT_101};
        int big = turn % 2, size = big ? 5 : 3, dx = turn < 2 ? 1 : turn < 4 ? 0 : 2;
        const float *across = dx == 1 ? first[big] : dx == 2 ? second[big] : smooth[big];
        picture want = correlate(&p, &o, across, size, turn < 2 || turn > 3 ? smooth[big]
                                                                            : first[big], size);
        assert_works(acu_sync(device, acu_sobel(image, dx, dx == 0, size, &o), &made));
        assert_picture(made, &want, ACU_HWC, 1e-3, "sobel");
        acu_tensor_release(made);
        free(want.at);
    }
    acu_tensor_release(image);
    free(p.at);
}

/* ---- windows ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static acu_op *median(acu_tensor *x, const acu_image_options *o, int turn)
{
    return acu_median_blur(x, 1 + 2 * (turn % 4), o);
}
static picture median_reference(const picture *p, const acu_image_options *o, int turn)
{
    picture to = picture_new(p->n, p->h, p->w, p->c);
    int size = 1 + 2 * (turn % 4);
    EACH_PIXEL(p) {
        double all[49];
        for (int k = 0; k < size * size; k++)
            all[k] = at(p, o, n, y + k / size - size / 2, x + k % size - size / 2, c);
        qsort(all, (size_t)(size * size), sizeof *all, compare);
        *pixel(&to, n, y, x, c) = all[size * size / 2];
    }
    return to;
}

static acu_op *bilateral(acu_tensor *x, const acu_image_options *o, int turn)
{
    double full = full_of(acu_tensor_dtype(x));
    return acu_bilateral(x, 5 + 2 * (turn % 2), 0.2 * full, 1.5, o);
}
static picture bilateral_reference(const picture *p, const acu_image_options *o, int turn)
{
    picture to = picture_new(p->n, p->h, p->w, p->c);
    int reach = 2 + turn % 2;
    double color = 0.2 * full_of(dtypes[turn % 5]);
    EACH_PIXEL(p) {
        double sum = 0, total = 0;
        for (int j = -reach; j <= reach; j++)
            for (int i = -reach; i <= reach; i++) {
                double apart = 0;
                for (int k = 0; k < p->c; k++)
                    apart += fabs(at(p, o, n, y + j, x + i, k) - *pixel(p, n, y, x, k));
                double w = exp(-(i * i + j * j) / (2 * 1.5 * 1.5) -
                               apart * apart / (2 * color * color));
                if (i * i + j * j > reach * reach)
                    continue;
                sum += w * at(p, o, n, y + j, x + i, c);
                total += w;
            }
        *pixel(&to, n, y, x, c) = sum / total;
    }
    return to;
}

/* A shape of 3 x 5, as rows of bits. */
static const int shapes[3][3] = {{31, 31, 31}, {4, 31, 4}, {4, 31, 4}};

static picture morph(const picture *p, bool dilate, int shape)
{
    picture to = picture_new(p->n, p->h, p->w, p->c);
    EACH_PIXEL(p) {
        double most = *pixel(p, n, y, x, c);
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 5; i++) {
                int v = y + j - 1, u = x + i - 2;
                if (!(shapes[shape][j] >> i & 1) || v < 0 || u < 0 || v >= p->h || u >= p->w)
                    continue;
                double value = *pixel(p, n, v, u, c);
                most = dilate ? fmax(most, value) : fmin(most, value);
            }
        *pixel(&to, n, y, x, c) = most;
    }
    return to;
}

static acu_op *morphed(acu_tensor *x, const acu_image_options *o, int turn)
{
    return acu_morphology(x, (acu_morph)(turn % 4), (acu_morph_shape)(turn / 4 % 3), 3, 5, o);
}
static picture morphed_reference(const picture *p, const acu_image_options *o, int turn)
{
    (void)o;
    acu_morph kind = (acu_morph)(turn % 4);
    int shape = turn / 4 % 3;
    bool dilate = kind == ACU_DILATE || kind == ACU_CLOSE;
    picture first = morph(p, dilate, shape);
    if (kind < ACU_OPEN)
        return first;
    picture second = morph(&first, !dilate, shape);
    free(first.at);
    return second;
}

static void windows(void **state)
{
    (void)state;
    for (int turn = 0; turn < 12; turn++) {
        acu_image_options o = {.border = (acu_border)(ACU_BORDER_CONSTANT + turn % 5),
                               .pad = {0.5f, 1, 2, 3}};
        check(morphed, morphed_reference, &o, turn, 0);
        if (turn < 8)
            check(median, median_reference, &o, turn, 0);
        if (turn < 6)
            check(bilateral, bilateral_reference, &o, turn, 1e-4);
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void refuses(acu_op *op, acu_status status, const char *words)
{
    assert_fails(acu_sync(device, op, NULL), status, words);
}

static void refusals(void **state)
{
    (void)state;
    acu_tensor *x = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(8, 9, 3), &x));
    refuses(acu_box_blur(x, 4, 3, NULL), ACU_ERR_INVALID, "box_blur of 4 x 3|odd sides of 1 to 63");
    refuses(acu_box_blur(x, 3, 65, NULL), ACU_ERR_INVALID, "3 x 65");
    refuses(acu_median_blur(x, 9, NULL), ACU_ERR_INVALID, "1 to 7");
    refuses(acu_gaussian_blur(x, 3, 3, 0, NULL), ACU_ERR_INVALID, "sigma is 0");
    refuses(acu_sobel(x, 0, 0, 3, NULL), ACU_ERR_INVALID, "at least one");
    refuses(acu_sobel(x, 1, 0, 4, NULL), ACU_ERR_INVALID, "size 4");
    refuses(acu_filter_separable(x, NULL, 3, weights, 3, NULL), ACU_ERR_INVALID,
            "acu_filter_separable|NULL");
    refuses(acu_bilateral(x, 5, -1, 2, NULL), ACU_ERR_INVALID, "-1 (colour)");
    refuses(acu_morphology(x, (acu_morph)4, ACU_MORPH_RECT, 3, 3, NULL), ACU_ERR_INVALID,
            "morphology 4");
    refuses(acu_into(x, acu_box_blur(x, 3, 3, NULL)), ACU_ERR_SHARED, "box_blur can not overwrite");
    acu_op *wide = acu_zeros(ACU_F64, ACU_SHAPE(2, 2));
    refuses(acu_median_blur(wide, 3, NULL), ACU_ERR_DTYPE, "median_blur|f64");
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(separable_filters), DEVICE_TEST(blurs),   DEVICE_TEST(sobels),
        DEVICE_TEST(windows),           DEVICE_TEST(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
