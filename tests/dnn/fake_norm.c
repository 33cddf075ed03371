/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The older calls: batch normalization. */
#include "fake_layers.h"

int cudnnBatchNormalizationForwardInference(fake_handle *handle, int mode, const float *alpha,
                                            const float *beta, const fake_tensor *of,
                                            const void *x, const fake_tensor *to, void *y,
                                            const fake_tensor *sums, const void *scale,
                                            const void *bias, const void *mean,
                                            const void *variance, double epsilon);
int cudnnBatchNormalizationForwardTraining(fake_handle *handle, int mode, const float *alpha,
                                           const float *beta, const fake_tensor *of, const void *x,
                                           const fake_tensor *to, void *y, const fake_tensor *sums,
                                           const void *scale, const void *bias, double factor,
                                           void *mean, void *variance, double epsilon,
                                           void *saved_mean, void *saved_inverse);
int cudnnBatchNormalizationBackward(fake_handle *handle, int mode, const float *alpha,
                                    const float *beta, const float *alpha_sums,
                                    const float *beta_sums, const fake_tensor *of, const void *x,
                                    const fake_tensor *dy_of, const void *dy,
                                    const fake_tensor *to, void *dx, const fake_tensor *sums,
                                    const void *scale, void *dscale, void *dbias, double epsilon,
                                    const void *saved_mean, const void *saved_inverse);

enum { SCALE, BIAS, MEAN, VARIANCE, SAVED_MEAN, SAVED_INVERSE, DSCALE, DBIAS, SUMS };

typedef struct norm {
    int kind; /* 0 inference, 1 training, 2 backward */
    fake_tensor x, y, dy; /* y: what is written */
    fake_tensor sums[SUMS]; /* at NULL: there is none */
    double factor, epsilon;
} norm;

typedef struct memory {
    char *x, *y, *dy;
    float *sums[SUMS];
} memory;

static double at_x(const norm *n, const memory *m, const int64_t *at)
{
    return fake_get(fake_type(n->x.type), m->x, fake_offset(&n->x, at));
}

static double at_dy(const norm *n, const memory *m, const int64_t *at)
{
    return fake_get(fake_type(n->dy.type), m->dy, fake_offset(&n->dy, at));
}

static void put(const norm *n, const memory *m, const int64_t *at, double value)
{
    fake_put(fake_type(n->y.type), m->y, fake_offset(&n->y, at), value);
}

/* The next element of the channel. */
static bool next(const norm *n, int64_t *at)
{
    fake_tensor one = n->x;
    int64_t c = at[1];
    one.dim[1] = 1;
    at[1] = 0;
    bool more = fake_next(&one, at);
    at[1] = c;
    return more;
}

static double count_of(const norm *n)
{
    return (double)(fake_elements(&n->x) / n->x.dim[1]);
}

static void train(const norm *n, const memory *m, int64_t c, double *mean, double *inverse)
{
    int64_t at[RANK] = {0, c};
    double sum = 0, squares = 0, count = count_of(n);
    do
        sum += at_x(n, m, at);
    while (next(n, at));
    *mean = sum / count;
    do
        squares += (at_x(n, m, at) - *mean) * (at_x(n, m, at) - *mean);
    while (next(n, at));
    *inverse = 1 / sqrt(squares / count + n->epsilon);
    m->sums[SAVED_MEAN][c] = (float)*mean;
    m->sums[SAVED_INVERSE][c] = (float)*inverse;
    float *const kept[] = {m->sums[MEAN], m->sums[VARIANCE]};
    const double now[] = {*mean, squares / (count - 1)};
    for (int i = 0; i < 2 && kept[i]; i++)
        kept[i][c] = (float)((1 - n->factor) * (double)kept[i][c] + n->factor * now[i]);
}

static void forward(const norm *n, const memory *m, int64_t c)
{
    int64_t at[RANK] = {0, c};
    double mean, inverse;
    if (n->kind == 1) {
        train(n, m, c, &mean, &inverse);
    } else {
        mean = (double)m->sums[MEAN][c];
        inverse = 1 / sqrt((double)m->sums[VARIANCE][c] + n->epsilon);
    }
    do
        put(n, m, at, (at_x(n, m, at) - mean) * inverse * (double)m->sums[SCALE][c] +
                          (double)m->sums[BIAS][c]);
    while (next(n, at));
}

static void backward(const norm *n, const memory *m, int64_t c)
{
    int64_t at[RANK] = {0, c};
    double mean = (double)m->sums[SAVED_MEAN][c], inverse = (double)m->sums[SAVED_INVERSE][c];
    double sum = 0, products = 0, count = count_of(n), scale = (double)m->sums[SCALE][c];
    do {
        sum += at_dy(n, m, at);
        products += at_dy(n, m, at) * (at_x(n, m, at) - mean) * inverse;
    } while (next(n, at));
    m->sums[DBIAS][c] = (float)sum;
    m->sums[DSCALE][c] = (float)products;
    do {
        double normal = (at_x(n, m, at) - mean) * inverse;
        put(n, m, at,
            scale * inverse * (at_dy(n, m, at) - sum / count - normal * products / count));
    } while (next(n, at));
}

static void run(fake_driver *driver, const void *data)
{
    const norm *n = data;
    memory m = {.x = fake_on_host(driver, &n->x), .y = fake_on_host(driver, &n->y)};
    m.dy = n->kind == 2 ? fake_on_host(driver, &n->dy) : NULL;
    if (!m.x || !m.y || (n->kind == 2 && !m.dy))
        return;
    for (int i = 0; i < SUMS; i++) {
        m.sums[i] = n->sums[i].at ? (float *)(void *)fake_on_host(driver, &n->sums[i]) : NULL;
        if (n->sums[i].at && !m.sums[i])
            return;
    }
    for (int64_t c = 0; c < n->x.dim[1]; c++) {
        if (n->kind == 2)
            backward(n, &m, c);
        else
            forward(n, &m, c);
    }
}

static int call(fake_handle *handle, norm *n, int mode, const fake_tensor *sums,
                const void *const *at)
{
    if (mode != 1 || sums->type != 0 || sums->dim[1] != n->x.dim[1] ||
        fake_elements(sums) != sums->dim[1] || !fake_same(&n->x, &n->y) || n->epsilon < 0)
        return fake_refuse(BAD_PARAM, "no such normalization");
    for (int i = 0; i < SUMS; i++)
        n->sums[i] = fake_placed(sums, at[i]);
    return fake_layer(handle, run, n, sizeof *n);
}

int cudnnBatchNormalizationForwardInference(fake_handle *handle, int mode, const float *alpha,
                                            const float *beta, const fake_tensor *of,
                                            const void *x, const fake_tensor *to, void *y,
                                            const fake_tensor *sums, const void *scale,
                                            const void *bias, const void *mean,
                                            const void *variance, double epsilon)
{
    norm n = {.x = fake_placed(of, x), .y = fake_placed(to, y), .epsilon = epsilon};
    const void *const at[SUMS] = {scale, bias, mean, variance};
    if (*alpha != 1 || *beta != 0 || !scale || !bias || !mean || !variance)
        return fake_refuse(BAD_PARAM, "something is missing");
    return call(handle, &n, mode, sums, at);
}

int cudnnBatchNormalizationForwardTraining(fake_handle *handle, int mode, const float *alpha,
                                           const float *beta, const fake_tensor *of, const void *x,
                                           const fake_tensor *to, void *y, const fake_tensor *sums,
                                           const void *scale, const void *bias, double factor,
                                           void *mean, void *variance, double epsilon,
                                           void *saved_mean, void *saved_inverse)
{
    norm n = {.kind = 1, .x = fake_placed(of, x), .y = fake_placed(to, y), .factor = factor,
              .epsilon = epsilon};
    const void *const at[SUMS] = {scale, bias, mean, variance, saved_mean, saved_inverse};
    if (*alpha != 1 || *beta != 0 || !scale || !bias || !mean != !variance || !saved_mean ||
        !saved_inverse)
        return fake_refuse(BAD_PARAM, "something is missing");
    return call(handle, &n, mode, sums, at);
}

int cudnnBatchNormalizationBackward(fake_handle *handle, int mode, const float *alpha,
                                    const float *beta, const float *alpha_sums,
                                    const float *beta_sums, const fake_tensor *of, const void *x,
                                    const fake_tensor *dy_of, const void *dy,
                                    const fake_tensor *to, void *dx, const fake_tensor *sums,
                                    const void *scale, void *dscale, void *dbias, double epsilon,
                                    const void *saved_mean, const void *saved_inverse)
{
    norm n = {.kind = 2, .x = fake_placed(of, x), .y = fake_placed(to, dx),
              .dy = fake_placed(dy_of, dy), .epsilon = epsilon};
    const void *const at[SUMS] = {[SCALE] = scale, [SAVED_MEAN] = saved_mean,
                                  [SAVED_INVERSE] = saved_inverse, [DSCALE] = dscale,
                                  [DBIAS] = dbias};
    if (*alpha != 1 || *beta != 0 || *alpha_sums != 1 || *beta_sums != 0 || !scale || !saved_mean ||
        !saved_inverse || !dscale || !dbias || !fake_same(of, dy_of))
        return fake_refuse(BAD_PARAM, "something is missing");
    return call(handle, &n, mode, sums, at);
}
