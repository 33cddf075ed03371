/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Attention as an operation graph: which operations it must consist of, and what they compute. */
#include "fake_graph.h"

enum { MATMUL = 19, POINTWISE = 13, REDUCTION = 22 };
enum { Q = X, KT = W, O = Y, V = BIAS };

/* ---- understanding ---- */

typedef struct reader {
    fake_graph *g;
    fake_desc *const *ops;
    int64_t count, at;
    int64_t made[32]; /* the virtual tensors so far */
    int made_count;
} reader;

/* It is in memory or a value, or was made by an operation before. */
static bool is_known(const reader *r, int64_t id, bool is_virtual)
{
    for (int i = 0; is_virtual && i < r->made_count; i++)
        if (r->made[i] == id)
            return true;
    return !is_virtual;
}

static bool reads(const reader *r, const fake_desc *op, int name)
{
    fake_tensor t;
    int64_t id;
    bool is_virtual;
    return fake_read_tensor(fake_part(op, name, 17), &t, &id, &is_virtual) &&
           is_known(r, id, is_virtual);
}

static bool writes(reader *r, const fake_desc *op, int name)
{
    fake_tensor t;
    int64_t id;
    bool is_virtual;
    if (!fake_read_tensor(fake_part(op, name, 17), &t, &id, &is_virtual) ||
        (is_virtual && is_known(r, id, true)))
        return false;
    if (is_virtual)
        r->made[r->made_count++] = id;
    return true;
}

static const fake_desc *next(reader *r, int kind)
{
    const fake_desc *op = r->at < r->count ? r->ops[r->at] : NULL;
    if (!op || fake_kind(op) != kind)
        return NULL;
    r->at++;
    return op;
}

static bool matmul(reader *r, int left, int right, int to)
{
    static const int names[] = {1520, 1521, 1522};
    const int places[] = {left, right, to};
    const fake_desc *op = next(r, MATMUL);
    fake_tensor t;
    int64_t id;
    bool is_virtual;
    int type;
    if (!op || !fake_part(op, 1523, 18) || !fake_number(fake_part(op, 1523, 18), 1500, 1, &type) ||
        !reads(r, op, 1520) || !reads(r, op, 1521) || !writes(r, op, 1522))
        return false;
    for (int i = 0; i < 3; i++) {
        if (!fake_read_tensor(fake_part(op, names[i], 17), &t, &id, &is_virtual) ||
            is_virtual != (places[i] < 0))
            return false;
        if (places[i] >= 0) {
            r->g->at[places[i]] = t;
            r->g->id[places[i]] = id;
        }
    }
    return true;
}

static bool reduction(reader *r, int operator)
{
    const fake_desc *op = next(r, REDUCTION), *how = op ? fake_part(op, 1612, 21) : NULL;
    int which, type;
    return how && fake_number(how, 1600, 18, &which) && which == operator &&
           fake_number(how, 1601, 1, &type) && type == 0 && reads(r, op, 1610) &&
           writes(r, op, 1611);
}

/* `inputs`: 1 x, 2 x and b, 3 x, b and t. The value's number goes to *id. */
static bool pointwise(reader *r, int mode, int inputs, int64_t *id)
{
    const fake_desc *op = next(r, POINTWISE), *how = op ? fake_part(op, 750, 0) : NULL;
    fake_tensor t;
    bool is_virtual;
    int which;
    if (!how || !fake_number(how, 0, 14, &which) || which != mode || !reads(r, op, 751) ||
        (inputs > 1 && !reads(r, op, 752)) || (inputs > 2 && !reads(r, op, 758)) ||
        !writes(r, op, 753))
        return false;
    return !id || (fake_read_tensor(fake_part(op, 752, 17), &t, id, &is_virtual) && !is_virtual);
}

static bool mask(reader *r)
{
    fake_graph *g = r->g;
    g->causal = true;
    if (!pointwise(r, 501, 1, NULL) || !pointwise(r, 501, 1, NULL))
        return false;
    if (g->at[Q].dim[2] != g->at[KT].dim[3] &&
        (!pointwise(r, 0, 2, &g->scalar_id[1]) || !pointwise(r, 9, 2, &g->scalar_id[2])))
        return false;
    return pointwise(r, 303, 2, NULL) && pointwise(r, 601, 3, &g->scalar_id[3]);
}

int fake_understand_attention(fake_graph *g, fake_desc *const *ops, int64_t count)
{
    reader r = {.g = g, .ops = ops, .count = count};
    bool good = matmul(&r, Q, KT, -1) && pointwise(&r, 1, 2, &g->scalar_id[0]);
    if (good && count > 10)
        good = mask(&r);
    good = good && reduction(&r, 3) && pointwise(&r, 9, 2, NULL) && pointwise(&r, 13, 1, NULL) &&
           reduction(&r, 0) && pointwise(&r, 15, 1, NULL) && pointwise(&r, 0, 2, NULL) &&
           pointwise(&r, 6, 2, NULL) && matmul(&r, -1, V, O) && r.at == count;
    const int64_t *q = g->at[Q].dim, *k = g->at[KT].dim, *v = g->at[V].dim, *o = g->at[O].dim;
    for (int i = 0; i < 4 && good; i++)
        good = q[i] == o[i];
    good = good && q[3] == k[2] && k[3] == v[2] && k[1] == v[1] && q[1] % k[1] == 0;
    return good ? SUCCESS : fake_refuse(NO_PATTERN, "no attention");
}

/* ---- computing ---- */

static double at(const fake_graph *g, char *const *host, int which, int64_t a, int64_t b, int64_t c,
                 int64_t d)
{
    const int64_t index[RANK] = {a, b, c, d};
    return fake_get(fake_type(g->at[which].type), host[which], fake_offset(&g->at[which], index));
}

/* One query's row of the result. */
static void run_row(const fake_graph *g, char *const *host, const int64_t *row, double *weights)
{
    const int64_t *k = g->at[KT].dim;
    int64_t keys = k[3], width = k[2], group = row[1] / (g->at[Q].dim[1] / k[1]);
    int64_t shift = g->scalar_id[1] ? g->scalar[1].whole - g->scalar[2].whole : 0;
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++) {
        weights[j] = 0;
        for (int64_t d = 0; d < width; d++)
            weights[j] += at(g, host, Q, row[0], row[1], row[2], d) *
                          at(g, host, KT, row[0], group, d, j);
        weights[j] *= (double)g->scalar[0].real;
        if (g->causal && row[2] + shift < j)
            weights[j] = (double)g->scalar[3].real;
        most = weights[j] > most ? weights[j] : most;
    }
    for (int64_t j = 0; j < keys; j++)
        sum += weights[j] = exp(weights[j] - most);
    for (int64_t d = 0; d < width; d++) {
        const int64_t index[RANK] = {row[0], row[1], row[2], d};
        double value = 0;
        for (int64_t j = 0; j < keys; j++)
            value += weights[j] / sum * at(g, host, V, row[0], group, j, d);
        fake_put(fake_type(g->at[O].type), host[O], fake_offset(&g->at[O], index), value);
    }
}

void fake_run_attention(const fake_graph *g, char *const *host)
{
    fake_tensor rows = g->at[O];
    int64_t row[RANK] = {0};
    double *weights = malloc((size_t)g->at[KT].dim[3] * sizeof *weights);
    rows.dim[3] = 1;
    do
        run_row(g, host, row, weights);
    while (fake_next(&rows, row));
    free(weights);
}
