/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Understanding operation graphs, and computing convolutions. */
#include "fake_graph.h"

/* ---- tensors ---- */

bool fake_read_tensor(const fake_desc *d, fake_tensor *t, int64_t *id, bool *is_virtual)
{
    int64_t rank, strides, one, align;
    int yes;
    *t = (fake_tensor){0};
    *is_virtual = d && fake_number(d, 907, 2, &yes) && (yes & 1);
    if (!d || !fake_number(d, 901, 1, &t->type) || !fake_whole(d, 902, t->dim, RANK, &rank) ||
        !fake_whole(d, 903, t->stride, RANK, &strides) || rank != strides || rank < 3 ||
        !fake_whole(d, 906, id, 1, &one) || !fake_whole(d, 900, &align, 1, &one) || align < 1)
        return false;
    t->rank = (int)rank;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 1 || t->stride[i] < 1)
            return false;
    return true;
}

int fake_check_tensor(const fake_desc *d)
{
    fake_tensor t;
    int64_t id;
    bool is_virtual;
    return fake_read_tensor(d, &t, &id, &is_virtual) ? SUCCESS
                                                : fake_refuse(BAD_PARAM, "no proper tensor");
}

/* ---- graphs ---- */

static bool read_window(fake_graph *g, const fake_desc *d)
{
    int64_t rank = g->at[X].rank - 2, n, whole, after[3];
    int mode, type;
    return d && fake_number(d, 100, 1, &type) && type == 0 && fake_number(d, 101, 7, &mode) &&
           mode == 1 && fake_whole(d, 102, g->dilation, 3, &n) && n == rank &&
           fake_whole(d, 103, g->stride, 3, &n) && n == rank &&
           fake_whole(d, 104, after, 3, &n) && n == rank &&
           fake_whole(d, 105, g->padding, 3, &n) && n == rank &&
           fake_whole(d, 106, &whole, 1, &n) && whole == rank;
}

static bool shapes_fit(const fake_graph *g)
{
    const int64_t *x = g->at[X].dim, *w = g->at[W].dim, *y = g->at[Y].dim;
    if (g->at[X].rank != g->at[W].rank || g->at[X].rank != g->at[Y].rank || x[0] != y[0] ||
        w[0] != y[1] || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0)
        return false;
    for (int d = 2; d < g->at[X].rank; d++) {
        int i = d - 2;
        int64_t room = x[d] + 2 * g->padding[i] - g->dilation[i] * (w[d] - 1) - 1;
        if (room < 0 || room / g->stride[i] + 1 != y[d])
            return false;
    }
    return true;
}

/* The output of the last operation so far; its number while it is virtual. */
static bool add_pointwise(fake_graph *g, const fake_desc *op, int64_t *last)
{
    const fake_desc *how = fake_part(op, 750, 0), *to = fake_part(op, 753, 17);
    fake_tensor of, y;
    int64_t id, out;
    bool is_virtual, ends_virtual;
    int mode, type;
    if (fake_kind(op) != 13 || !how || !fake_number(how, 0, 14, &mode) ||
        !fake_number(how, 1, 1, &type) || type != 0 ||
        !fake_read_tensor(fake_part(op, 751, 17), &of, &id, &is_virtual) || id != *last ||
        !is_virtual || !fake_read_tensor(to, &y, &out, &ends_virtual))
        return false;
    *last = ends_virtual ? out : 0;
    if (!ends_virtual) {
        g->at[Y] = y;
        g->id[Y] = out;
    }
    if (mode == 0)
        return fake_read_tensor(fake_part(op, 752, 17), &g->at[BIAS], &g->id[BIAS], &is_virtual) &&
               g->at[BIAS].dim[1] == g->at[W].dim[0] &&
               fake_elements(&g->at[BIAS]) == g->at[W].dim[0];
    g->activation = mode;
    return mode >= 100 && mode < 200;
}

int fake_understand(fake_graph *g, fake_desc *const *ops, int64_t count)
{
    static const int names[][6] = {{702, 704, 703, 705, 700, 701},
                                   {714, 716, 715, 717, 712, 713},
                                   {708, 710, 709, 711, 706, 707}};
    int64_t last;
    bool virtual[3];
    float alpha, beta;
    *g = (fake_graph){.kind = fake_kind(ops[0]), .activation = -1};
    if (g->kind == 19)
        return fake_understand_attention(g, ops, count);
    if (g->kind < 10 || g->kind > 12)
        return fake_refuse(NO_PATTERN, "no convolution");
    const int *name = names[g->kind - 10];
    for (int i = X; i <= Y; i++)
        if (!fake_read_tensor(fake_part(ops[0], name[1 + i], 17), &g->at[i], &g->id[i],
                              &virtual[i]))
            return fake_refuse(BAD_PARAM, "a tensor is missing");
    if (!read_window(g, fake_part(ops[0], name[0], 1)) || !shapes_fit(g))
        return fake_refuse(BAD_PARAM, "shapes do not fit");
    if (!fake_real(ops[0], name[4], &alpha) || !fake_real(ops[0], name[5], &beta) || alpha != 1 ||
        beta != 0)
        return fake_refuse(BAD_PARAM, "alpha and beta");
    last = virtual[Y] ? g->id[Y] : 0;
    for (int64_t i = 1; i < count; i++)
        if (!last || !add_pointwise(g, ops[i], &last))
            return fake_refuse(BAD_PARAM, "pointwise operations that do not follow each other");
    return last == 0 ? SUCCESS : fake_refuse(BAD_PARAM, "nothing is written");
}

bool fake_is_fused(const fake_graph *g)
{
    return g->kind == 19 || g->id[BIAS] || g->activation >= 0;
}

bool fake_place(fake_graph *g, int64_t id, void *at)
{
    for (int i = 0; i < 4; i++)
        if (at && id && g->scalar_id[i] == id) {
            memcpy(&g->scalar[i], at, sizeof g->scalar[i]);
            return true;
        }
    for (int i = 0; i < TENSORS; i++)
        if (g->id[i] == id && at && (uintptr_t)at % 16 == 0 && !g->at[i].at) {
            g->at[i].at = at;
            return true;
        }
    return false;
}

bool fake_is_complete(const fake_graph *g)
{
    for (int i = 0; i < TENSORS; i++)
        if (g->id[i] && !g->at[i].at)
            return false;
    return true;
}

/* ---- computing ---- */

static double rounded(const fake_graph *g, double value)
{
    enum { BITS_OF_TF32 = 11 };
    int exponent;
    if (!g->rounds)
        return value;
    double part = frexp(value, &exponent);
    return ldexp(nearbyint(ldexp(part, BITS_OF_TF32)), exponent - BITS_OF_TF32);
}

static double get(const fake_graph *g, const fake_tensor *t, const char *host,
                  const int64_t *index)
{
    return rounded(g, fake_get(fake_type(t->type), host, fake_offset(t, index)));
}

/* Where in x the element at place `y` of the window's `w` comes from; false: from the padding. */
static bool place_in_x(const fake_graph *g, const int64_t *y, const int64_t *w, int64_t *x)
{
    int64_t groups = g->at[X].dim[1] / g->at[W].dim[1];
    x[0] = y[0];
    x[1] = w[1] + w[0] / (g->at[W].dim[0] / groups) * g->at[W].dim[1];
    for (int d = 2; d < g->at[X].rank; d++) {
        int i = d - 2;
        x[d] = y[d] * g->stride[i] + w[d] * g->dilation[i] - g->padding[i];
        if (x[d] < 0 || x[d] >= g->at[X].dim[d])
            return false;
    }
    return true;
}

/* Each product that there is goes to the sum of the tensor that is written; here every other
 * one. */
static void add_half(const fake_graph *g, char *const *host, float *sums, int half)
{
    const fake_tensor *to = &g->at[g->kind == 10 ? Y : g->kind == 11 ? W : X];
    fake_tensor order = *to; /* sums lie densely */
    int64_t step = 1, turn = 0, y[RANK] = {0}, x[RANK];
    for (int i = to->rank - 1; i >= 0; i--) {
        order.stride[i] = step;
        step *= to->dim[i];
    }
    do {
        int64_t w[RANK] = {y[1]}, *all[] = {x, w, y};
        const fake_tensor *t = &g->at[W];
        for (int64_t left = fake_elements(t) / t->dim[0]; left > 0; left--) {
            if ((left + turn) % 2 == half && place_in_x(g, y, w, x)) {
                int to_place = (int)(to - g->at);
                double product = 1;
                for (int i = X; i <= Y; i++)
                    product *= i == to_place ? 1 : get(g, &g->at[i], host[i], all[i]);
                sums[fake_offset(&order, all[to_place])] += (float)product;
            }
            for (int i = t->rank - 1; i >= 1 && ++w[i] == t->dim[i]; i--)
                w[i] = 0;
        }
        turn++;
    } while (fake_next(&g->at[Y], y));
}

static void add_up(const fake_graph *g, char *const *host, float *sums)
{
    add_half(g, host, sums, g->shift & 1);
    add_half(g, host, sums, !(g->shift & 1));
}

static void store(const fake_graph *g, char *const *host, const float *sums)
{
    int to_place = g->kind == 10 ? Y : g->kind == 11 ? W : X;
    const fake_tensor *to = &g->at[to_place];
    int64_t index[RANK] = {0}, at = 0;
    do {
        double value = (double)sums[at++];
        if (host[BIAS]) {
            int64_t channel[RANK] = {0, index[1]};
            value += get(g, &g->at[BIAS], host[BIAS], channel);
        }
        fake_put(fake_type(to->type), host[to_place], fake_offset(to, index),
                 fake_activation(g->activation, value));
    } while (fake_next(to, index));
}

void fake_run_graph(fake_driver *driver, const void *data)
{
    const fake_graph *g = data;
    char *host[TENSORS] = {NULL};
    for (int i = 0; i < TENSORS; i++)
        if (g->id[i] && !(host[i] = fake_on_host(driver, &g->at[i])))
            return;
    char *memory = g->bytes ? fake_memory(driver, g->memory, (uint64_t)g->bytes) : NULL;
    if (g->bytes && !memory)
        return;
    if (memory)
        memory[g->bytes - 1] = 1;
    if (g->kind == 19) {
        fake_run_attention(g, host);
        return;
    }
    int64_t n = fake_elements(&g->at[g->kind == 10 ? Y : g->kind == 11 ? W : X]);
    float *sums = calloc((size_t)n, sizeof *sums);
    add_up(g, host, sums);
    store(g, host, sums);
    free(sums);
}
