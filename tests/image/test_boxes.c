/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Boxes beside a reference: overlap, non-maximum suppression, drawing. */
#include "image/pictures.h"

#include <acuda/boxes.h>

#include "support/one_device.h"

static float below(double most)
{
    return (float)((double)test_below(&numbers, 4096) / 4096 * most);
}

static void random_boxes(float *boxes, int count)
{
    for (int i = 0; i < count; i++) {
        boxes[4 * i] = below(60);
        boxes[4 * i + 1] = below(60);
        boxes[4 * i + 2] = boxes[4 * i] + below(30);
        boxes[4 * i + 3] = boxes[4 * i + 1] + below(30);
    }
}

static double iou(const float *a, const float *b)
{
    double w = fmin(a[2], b[2]) - fmax(a[0], b[0]), h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
    double both = w > 0 && h > 0 ? w * h : 0;
    double all = (double)(a[2] - a[0]) * (double)(a[3] - a[1]) +
                 (double)(b[2] - b[0]) * (double)(b[3] - b[1]) - both;
    return all > 0 ? both / all : 0;
}

static void overlaps(void **state)
{
    (void)state;
    float a[7 * 4], b[300 * 4] = {0};
    random_boxes(a, 7);
    random_boxes(b, 299); /* and one without area */
    acu_tensor *first = tensor_with(device, ACU_F32, ACU_SHAPE(7, 4), a), *turned = NULL;
    acu_tensor *second = window_of(device, ACU_F32, ACU_SHAPE(300, 4), 1);
    assert_works(acu_write_sync(second, b, sizeof b));
    float *have = result_of(device, acu_box_iou(first, second), ACU_F32, ACU_SHAPE(7, 300));
    for (int i = 0; i < 7 * 300; i++)
        assert_true(fabs((double)have[i] - iou(a + 4 * (i / 300), b + 4 * (i % 300))) < 1e-4);
    assert_works(acu_tensor_transpose(second, 0, 1, &turned));
    assert_fails(acu_sync(device, acu_box_iou(first, turned), NULL), ACU_ERR_SHAPE,
                 "box_iou takes boxes|f32 [4, 300]");
    free(have);
    acu_tensor_release(first);
    acu_tensor_release(second);
    acu_tensor_release(turned);
}

enum { IMAGES = 2, BOXES = 300, MOST = 40 };

/* Greedy, from the best down. */
static void suppress(const float *boxes, const float *scores, const int64_t *classes,
                     double overlap, double least, int64_t kept[MOST])
{
    bool gone[BOXES];
    for (int i = 0; i < BOXES; i++)
        gone[i] = !(scores[i] > (float)least);
    for (int k = 0; k < MOST; k++) {
        int best = -1;
        for (int i = 0; i < BOXES; i++)
            if (!gone[i] && (best < 0 || scores[i] > scores[best]))
                best = i;
        kept[k] = best;
        for (int i = 0; best >= 0 && i < BOXES; i++)
            if (i == best || ((!classes || classes[i] == classes[best]) &&
                              iou(boxes + 4 * i, boxes + 4 * best) > overlap))
                gone[i] = true;
    }
}

static void suppression(void **state)
{
    (void)state;
    static float boxes[IMAGES * BOXES * 4], scores[IMAGES * BOXES];
    static int64_t classes[IMAGES * BOXES], want[IMAGES * MOST];
    for (int turn = 0; turn < 4; turn++) {
        double least = turn == 3 ? 0.97 : 0.1, overlap = 0.3 + 0.1 * turn + 0.001234;
        random_boxes(boxes, IMAGES * BOXES);
        for (int i = 0; i < IMAGES * BOXES; i++) {
            scores[i] = (float)test_below(&numbers, 500) / 500; /* some are equal */
            classes[i] = (int64_t)test_below(&numbers, 3) - 1;
        }
        bool by_class = turn % 2, batch = turn > 0;
        for (int n = 0; n < IMAGES; n++)
            suppress(boxes + 4 * BOXES * n, scores + BOXES * n,
                     by_class ? classes + BOXES * n : NULL, overlap, least, want + MOST * n);
        acu_tensor *b = tensor_with(device, ACU_F32, batch ? ACU_SHAPE(IMAGES, BOXES, 4)
                                                           : ACU_SHAPE(BOXES, 4), boxes);
        acu_tensor *s = tensor_with(device, ACU_F32, batch ? ACU_SHAPE(IMAGES, BOXES)
                                                           : ACU_SHAPE(BOXES), scores);
        acu_tensor *c = tensor_with(device, ACU_I64, batch ? ACU_SHAPE(IMAGES, BOXES)
                                                           : ACU_SHAPE(BOXES), classes);
        acu_op *op = by_class ? acu_nms_by_class(b, s, c, overlap, least, MOST)
                              : acu_nms(b, s, overlap, least, MOST);
        int64_t *have = result_of(device, op, ACU_I64, batch ? ACU_SHAPE(IMAGES, MOST)
                                                             : ACU_SHAPE(MOST));
        assert_memory_equal(have, want, (size_t)(batch ? IMAGES : 1) * MOST * sizeof *want);
        free(have);
        acu_tensor_release(b);
        acu_tensor_release(s);
        acu_tensor_release(c);
    }
}

static bool on_edge(const float *b, double x, double y, double half)
{
    bool outer = x > (double)b[0] - half && x < (double)b[2] + half && y > (double)b[1] - half &&
                 y < (double)b[3] + half;
    bool inner = x > (double)b[0] + half && x < (double)b[2] - half && y > (double)b[1] + half &&
                 y < (double)b[3] - half;
    return outer && !inner;
}

static void drawings(void **state)
{
    (void)state;
    const float boxes[] = {2, 3, 10, 8, 20, -5, 50, 6, 4, 4, 4, 9, NAN, 1, 2, 3};
    const int64_t which[] = {1, -1, 99, 3};
    const float color[4] = {10, 20, 30, 0};
    acu_tensor *b = tensor_with(device, ACU_F32, ACU_SHAPE(4, 4), boxes);
    acu_tensor *w = tensor_with(device, ACU_I64, ACU_SHAPE(4), which);
    for (int turn = 0; turn < 2; turn++) {
        const acu_image_options o = {.size = sizeof o, .layout = ACU_CHW};
        picture p = picture_noise(1, 12, 40, 3, ACU_U8);
        acu_tensor *image = picture_upload(device, &p, ACU_U8, ACU_CHW, 3, 1);
        EACH_PIXEL(&p) {
            bool first = !turn && on_edge(boxes, x + 0.5, y + 0.5, 1);
            if (first || on_edge(boxes + 4, x + 0.5, y + 0.5, 1))
                *pixel(&p, n, y, x, c) = (double)color[c];
        }
        acu_op *op = turn ? acu_draw_some_boxes(image, b, w, color, 2, &o)
                          : acu_draw_boxes(image, b, color, 2, &o);
        assert_works(acu_sync(device, op, NULL));
        assert_picture(image, &p, ACU_CHW, 0, "drawn");
        acu_tensor_release(image);
        free(p.at);
    }
    acu_tensor_release(b);
    acu_tensor_release(w);
}

static void refuses(acu_op *op, acu_status status, const char *words)
{
    assert_fails(acu_sync(device, op, NULL), status, words);
}

static void refusals(void **state)
{
    (void)state;
    const float color[4] = {0};
    acu_tensor *x = NULL, *b = NULL, *s = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(8, 9, 3), &x));
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(5, 4), &b));
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(5), &s));
    refuses(acu_nms(b, acu_zeros(ACU_F32, ACU_SHAPE(6)), 0.5, 0, 3), ACU_ERR_SHAPE,
            "f32 [6] go with boxes f32 [5, 4]");
    refuses(acu_nms(b, acu_zeros(ACU_F64, ACU_SHAPE(5)), 0.5, 0, 3), ACU_ERR_DTYPE, "scores of f32");
    refuses(acu_nms(acu_zeros(ACU_F32, ACU_SHAPE(5, 5)), s, 0.5, 0, 3), ACU_ERR_SHAPE,
            "boxes of f32 [n, 4]");
    refuses(acu_nms(b, s, -0.5, 0, 3), ACU_ERR_INVALID, "overlap -0.5");
    refuses(acu_nms(b, s, 0.5, 0, 0), ACU_ERR_INVALID, "at most 0 boxes");
    refuses(acu_nms_by_class(b, s, s, 0.5, 0, 3), ACU_ERR_DTYPE, "classes of i64");
    refuses(acu_draw_boxes(x, b, NULL, 2, NULL), ACU_ERR_INVALID, "NULL where a colour");
    refuses(acu_draw_boxes(x, b, color, 0, NULL), ACU_ERR_INVALID, "lines of 0 pixels");
    refuses(acu_draw_boxes(x, acu_zeros(ACU_F32, ACU_SHAPE(2, 5, 4)), color, 1, NULL),
            ACU_ERR_SHAPE, "of boxes f32 [2, 5, 4]: boxes, and indices, have");
    refuses(acu_draw_boxes(acu_broadcast_to(acu_zeros(ACU_U8, ACU_SHAPE(1, 1, 3)),
                                            ACU_SHAPE(4, 4, 3)), b, color, 1, NULL),
            ACU_ERR_SHARED, "share memory");
    acu_tensor_release(x);
    acu_tensor_release(b);
    acu_tensor_release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(overlaps), DEVICE_TEST(suppression), DEVICE_TEST(drawings),
        DEVICE_TEST(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
