/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The older calls: pooling and softmax. */
#include "fake_layers.h"

typedef struct fake_pooling {
    int mode, rank; /* 0, 3 greatest; 1 mean; 2 of what is inside */
    int window[3], padding[3], stride[3];
} fake_pooling;

int cudnnCreatePoolingDescriptor(fake_pooling **d);
int cudnnDestroyPoolingDescriptor(fake_pooling *d);
int cudnnSetPoolingNdDescriptor(fake_pooling *d, int mode, int nan, int rank, const int *window,
                                const int *padding, const int *stride);
int cudnnPoolingForward(fake_handle *handle, const fake_pooling *d, const float *alpha,
                        const fake_tensor *of, const void *x, const float *beta,
                        const fake_tensor *to, void *y);
int cudnnPoolingBackward(fake_handle *handle, const fake_pooling *d, const float *alpha,
                         const fake_tensor *y_of, const void *y, const fake_tensor *dy_of,
                         const void *dy, const fake_tensor *x_of, const void *x, const float *beta,
                         const fake_tensor *dx_of, void *dx);
int cudnnSoftmaxForward(fake_handle *handle, int algorithm, int mode, const float *alpha,
                        const fake_tensor *of, const void *x, const float *beta,
                        const fake_tensor *to, void *y);
int cudnnSoftmaxBackward(fake_handle *handle, int algorithm, int mode, const float *alpha,
                         const fake_tensor *y_of, const void *y, const fake_tensor *dy_of,
                         const void *dy, const float *beta, const fake_tensor *to, void *dx);

/* ---- pooling ---- */

int cudnnCreatePoolingDescriptor(fake_pooling **d)
{
    *d = fake_make(sizeof **d);
    return *d ? SUCCESS : NO_MEMORY;
}

int cudnnDestroyPoolingDescriptor(fake_pooling *d)
{
    return fake_drop(d);
}

int cudnnSetPoolingNdDescriptor(fake_pooling *d, int mode, int nan, int rank, const int *window,
                                const int *padding, const int *stride)
{
    (void)nan;
    if (mode < 0 || mode > 3 || rank < 2 || rank > 3)
        return fake_refuse(BAD_PARAM, "no such pooling");
    *d = (fake_pooling){.mode = mode, .rank = rank};
    for (int i = 0; i < rank; i++) {
        d->window[i] = window[i];
        d->padding[i] = padding[i];
        d->stride[i] = stride[i];
        if (window[i] < 1 || stride[i] < 1 || padding[i] < 0 || padding[i] >= window[i])
            return fake_refuse(BAD_PARAM, "no such window");
    }
    return SUCCESS;
}

typedef struct pooling {
    fake_pooling by;
    fake_tensor x, y, dy, dx; /* the last two: backward */
    bool backward;
} pooling;

/* The next place of the window around y, where it lies inside x. */
static bool place(const pooling *p, const int64_t *y, const int64_t *w, int64_t *x)
{
    x[0] = y[0];
    x[1] = y[1];
    for (int i = 0; i < p->by.rank; i++) {
        x[i + 2] = y[i + 2] * p->by.stride[i] + w[i] - p->by.padding[i];
        if (x[i + 2] < 0 || x[i + 2] >= p->x.dim[i + 2])
            return false;
    }
    return true;
}

static bool next_of_window(const pooling *p, int64_t *w)
{
    for (int i = p->by.rank - 1; i >= 0; i--) {
        if (++w[i] < p->by.window[i])
            return true;
        w[i] = 0;
    }
    return false;
}

/* The pooled value; where the greatest is, and how many elements count. */
static double pooled(const pooling *p, const char *x, const int64_t *y, int64_t *greatest,
                     int *counted)
{
    int64_t w[3] = {0}, at[RANK];
    int type = fake_type(p->x.type), inside = 0, all = 0;
    double most = -INFINITY, sum = 0;
    do {
        all++;
        if (!place(p, y, w, at))
            continue;
        double value = fake_get(type, x, fake_offset(&p->x, at));
        inside++;
        sum += value;
        if (value > most) {
            most = value;
            memcpy(greatest, at, sizeof at);
        }
    } while (next_of_window(p, w));
    *counted = p->by.mode == 1 ? all : inside;
    return p->by.mode == 0 || p->by.mode == 3 ? most : sum / *counted;
}

static void spread(const pooling *p, const int64_t *y, double value, const int64_t *greatest,
                   int counted, double *sums, const fake_tensor *order)
{
    int64_t w[3] = {0}, at[RANK];
    if (p->by.mode == 0 || p->by.mode == 3) {
        sums[fake_offset(order, greatest)] += value;
        return;
    }
    do
        if (place(p, y, w, at))
            sums[fake_offset(order, at)] += value / counted;
    while (next_of_window(p, w));
}

static void run_pool(fake_driver *driver, const void *data)
{
    const pooling *p = data;
    char *x = fake_on_host(driver, &p->x), *y = fake_on_host(driver, &p->y);
    char *dy = p->backward ? fake_on_host(driver, &p->dy) : NULL;
    char *dx = p->backward ? fake_on_host(driver, &p->dx) : NULL;
    int type = fake_type(p->x.type);
    int64_t at[RANK] = {0}, greatest[RANK] = {0}, n = fake_elements(&p->x), step = 1, i = 0;
    if (!x || !y || (p->backward && (!dy || !dx)))
        return;
    fake_tensor order = p->x;
    for (int d = order.rank - 1; d >= 0; d--) {
        order.stride[d] = step;
        step *= order.dim[d];
    }
    double *sums = calloc((size_t)n, sizeof *sums);
    do {
        int counted;
        double value = pooled(p, x, at, greatest, &counted);
        if (!p->backward)
            fake_put(type, y, fake_offset(&p->y, at), value);
        else
            spread(p, at, fake_get(type, dy, fake_offset(&p->dy, at)), greatest, counted, sums,
                   &order);
    } while (fake_next(&p->y, at));
    if (p->backward)
        do
            fake_put(type, dx, fake_offset(&p->dx, at), sums[i++]);
        while (fake_next(&p->dx, at));
    free(sums);
}

static bool places_fit(const fake_pooling *d, const fake_tensor *x, const fake_tensor *y)
{
    if (x->type != y->type || x->rank != y->rank || x->rank != d->rank + 2 ||
        x->dim[0] != y->dim[0] || x->dim[1] != y->dim[1])
        return false;
    for (int i = 0; i < d->rank; i++)
        if ((x->dim[i + 2] + 2 * d->padding[i] - d->window[i]) / d->stride[i] + 1 != y->dim[i + 2])
            return false;
    return true;
}

int cudnnPoolingForward(fake_handle *handle, const fake_pooling *d, const float *alpha,
                        const fake_tensor *of, const void *x, const float *beta,
                        const fake_tensor *to, void *y)
{
    pooling p = {.by = *d, .x = fake_placed(of, x), .y = fake_placed(to, y)};
    if (*alpha != 1 || *beta != 0 || !places_fit(d, of, to))
        return fake_refuse(BAD_PARAM, "shapes do not fit");
    return fake_layer(handle, run_pool, &p, sizeof p);
}

int cudnnPoolingBackward(fake_handle *handle, const fake_pooling *d, const float *alpha,
                         const fake_tensor *y_of, const void *y, const fake_tensor *dy_of,
                         const void *dy, const fake_tensor *x_of, const void *x, const float *beta,
                         const fake_tensor *dx_of, void *dx)
{
    pooling p = {.by = *d, .x = fake_placed(x_of, x), .y = fake_placed(y_of, y),
                 .dy = fake_placed(dy_of, dy), .dx = fake_placed(dx_of, dx), .backward = true};
    if (*alpha != 1 || *beta != 0 || !places_fit(d, x_of, y_of) || !fake_same(y_of, dy_of) ||
        !fake_same(x_of, dx_of))
        return fake_refuse(BAD_PARAM, "shapes do not fit");
    return fake_layer(handle, run_pool, &p, sizeof p);
}

/* ---- softmax ---- */

typedef struct softmax {
    fake_tensor of, y, to; /* y: backward, of = dy */
    bool log, backward;
} softmax;

static double element(const fake_tensor *t, const char *host, int64_t *at, int64_t c)
{
    at[1] = c;
    return fake_get(fake_type(t->type), host, fake_offset(t, at));
}

static double gradient(const softmax *s, double dy, double y, double sum)
{
    return s->log ? dy - exp(y) * sum : y * (dy - sum);
}

static void run_line(const softmax *s, const char *of, const char *y, char *to, int64_t *at)
{
    double most = -INFINITY, sum = 0;
    int64_t n = s->of.dim[1];
    for (int64_t c = 0; c < n; c++)
        most = fmax(most, element(&s->of, of, at, c));
    for (int64_t c = 0; c < n; c++)
        sum += !s->backward ? exp(element(&s->of, of, at, c) - most)
               : s->log     ? element(&s->of, of, at, c)
                            : element(&s->of, of, at, c) * element(&s->y, y, at, c);
    for (int64_t c = 0; c < n; c++) {
        double v = element(&s->of, of, at, c);
        v = s->backward ? gradient(s, v, element(&s->y, y, at, c), sum)
            : s->log    ? v - most - log(sum)
                        : exp(v - most) / sum;
        fake_put(fake_type(s->to.type), to, fake_offset(&s->to, at), v);
    }
    at[1] = 0;
}

static void run_softmax(fake_driver *driver, const void *data)
{
    const softmax *s = data;
    const char *of = fake_on_host(driver, &s->of);
    const char *y = s->backward ? fake_on_host(driver, &s->y) : NULL;
    char *to = fake_on_host(driver, &s->to);
    int64_t at[RANK] = {0};
    fake_tensor lines = s->of;
    lines.dim[1] = 1;
    if (!of || !to || (s->backward && !y))
        return;
    do
        run_line(s, of, y, to, at);
    while (fake_next(&lines, at));
}

int cudnnSoftmaxForward(fake_handle *handle, int algorithm, int mode, const float *alpha,
                        const fake_tensor *of, const void *x, const float *beta,
                        const fake_tensor *to, void *y)
{
    softmax s = {.of = fake_placed(of, x), .to = fake_placed(to, y), .log = algorithm == 2};
    if (algorithm < 1 || algorithm > 2 || mode != 1 || *alpha != 1 || *beta != 0 ||
        !fake_same(of, to))
        return fake_refuse(BAD_PARAM, "no such softmax");
    return fake_layer(handle, run_softmax, &s, sizeof s);
}

int cudnnSoftmaxBackward(fake_handle *handle, int algorithm, int mode, const float *alpha,
                         const fake_tensor *y_of, const void *y, const fake_tensor *dy_of,
                         const void *dy, const float *beta, const fake_tensor *to, void *dx)
{
    softmax s = {.of = fake_placed(dy_of, dy), .y = fake_placed(y_of, y), .to = fake_placed(to, dx),
                 .log = algorithm == 2, .backward = true};
    if (algorithm < 1 || algorithm > 2 || mode != 1 || *alpha != 1 || *beta != 0 ||
        !fake_same(y_of, dy_of) || !fake_same(y_of, to))
        return fake_refuse(BAD_PARAM, "no such softmax");
    return fake_layer(handle, run_softmax, &s, sizeof s);
}
