/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Distributions, made of uniform and normal numbers by other operations. */
#include "ops/ops.h"

#include "base/alloc.h"

#include <acuda/distributions.h>
#include <acuda/scan.h>
#include <acuda/select.h>
#include <acuda/sort.h>

#include <inttypes.h>
#include <math.h>

static acu_op *two(acu_elementwise kind, acu_op *a, acu_op *b, acu_site site)
{
    return acu_op_elementwise(kind, (acu_op *const[]){a, b}, 2, site);
}

static acu_op *number(double x, acu_site site)
{
    return acu_op_number_f64(x, site);
}

/* a x + b */
static acu_op *line(acu_op *x, double a, double b, acu_site site)
{
    acu_op *operands[] = {x, number(a, site), number(b, site)};
    return acu_op_elementwise(ACU_OP_FMA, operands, 3, site);
}

/* The refusal of a parameter; consumes the offset. */
static acu_op *bad(const char *name, const char *what, double value, acu_op *offset, acu_site site)
{
    acu_op_release(offset);
    return acu_op_fail(ACU_ERR_INVALID, name, site, "%s with %s %g", name, what, value);
}

/* ---- of floating point ----------------------------------------------------------------------- */

acu_op *acu_op_uniform(acu_dtype dtype, acu_shape shape, double low, double high, uint64_t seed,
                       acu_op *offset, acu_site site)
{
    if (!isfinite(low) || !isfinite(high) || !isfinite(high - low) || low > high) {
        acu_op_release(offset);
        return acu_op_fail(ACU_ERR_INVALID, "uniform", site, "uniform from %g to %g", low, high);
    }
    acu_op *u = acu_op_rand(dtype, shape, seed, offset, site);
    return acu_op_named(line(u, high - low, low, site), "uniform");
}

acu_op *acu_op_normal(acu_dtype dtype, acu_shape shape, double mean, double deviation,
                      uint64_t seed, acu_op *offset, acu_site site)
{
    if (!(deviation >= 0) || !isfinite(deviation))
        return bad("normal", "a deviation of", deviation, offset, site);
    acu_op *z = acu_op_randn(dtype, shape, seed, offset, site);
    return acu_op_named(line(z, deviation, mean, site), "normal");
}

acu_op *acu_op_lognormal(acu_dtype dtype, acu_shape shape, double mean, double deviation,
                         uint64_t seed, acu_op *offset, acu_site site)
{
    if (!(deviation >= 0) || !isfinite(deviation))
        return bad("lognormal", "a deviation of", deviation, offset, site);
    acu_op *z = acu_op_normal(dtype, shape, mean, deviation, seed, offset, site);
    return acu_op_named(acu_op_elementwise(ACU_OP_EXP, &z, 1, site), "lognormal");
}

acu_op *acu_op_exponential(acu_dtype dtype, acu_shape shape, double rate, uint64_t seed,
                           acu_op *offset, acu_site site)
{
    if (!(rate > 0) || !isfinite(rate))
        return bad("exponential", "a rate of", rate, offset, site);
    acu_op *rest = line(acu_op_rand(dtype, shape, seed, offset, site), -1, 1, site); /* exact */
    acu_op *log = acu_op_elementwise(ACU_OP_LOG, &rest, 1, site);
    return acu_op_named(two(ACU_OP_MUL, log, number(-1 / rate, site), site), "exponential");
}

/* ---- of whole numbers ------------------------------------------------------------------------ */

acu_op *acu_op_bernoulli(acu_shape shape, double probability, uint64_t seed, acu_op *offset,
                         acu_site site)
{
    if (!(probability >= 0 && probability <= 1))
        return bad("bernoulli", "a probability of", probability, offset, site);
    acu_op *u = acu_op_rand(ACU_F64, shape, seed, offset, site);
    return acu_op_named(two(ACU_OP_LT, u, number(probability, site), site), "bernoulli");
}

enum { TABLE = 4096, MOST_RATE = 10000 };

/* The probabilities of first, first + 1, ... events or fewer; returns their number. They follow
 * from that of the likeliest number, which is 1 at first, and end where they do not count any
 * more. */
static int tabulate(double rate, int64_t *first, double *table)
{
    const double least = 1e-20;
    const int64_t middle = (int64_t)rate;
    int64_t low = middle;
    double sum = 0, p = 1;
    int n = 0;
    while (low > 0 && p > least)
        p *= (double)low-- / rate;
    for (int64_t k = low; n < TABLE && (k <= middle || p > least); k++) {
        sum += p;
        table[n++] = sum;
        p *= rate / (double)(k + 1);
    }
    for (int i = 0; i < n; i++)
        table[i] /= sum;
    *first = low;
    return n;
}

acu_op *acu_op_poisson(acu_shape shape, double rate, uint64_t seed, acu_op *offset, acu_site site)
{
    if (!(rate >= 0 && rate <= MOST_RATE))
        return bad("poisson", "a rate that is not from 0 to 10000:", rate, offset, site);
    double *table = ACUI_NEW_ARRAY(double, TABLE);
    if (!table) {
        acu_op_release(offset);
        return acu_op_fail(ACU_ERR_NO_MEMORY, "poisson", site, "no memory for a table of poisson");
    }
    int64_t first;
    int n = tabulate(rate, &first, table);
    acu_op *sums = acu_op_const(ACU_F64, ACU_SHAPE(n), table, site);
    acui_free(table);
    acu_op *u = acu_op_rand(ACU_F64, shape, seed, offset, site);
    acu_op *more = acu_op_searchsorted(sums, u, true, site);
    return acu_op_named(two(ACU_OP_ADD, more, acu_op_number_i64(first, site), site), "poisson");
}

typedef struct drawing {
    acu_shape shape;
    uint64_t seed;
    bool count; /* multinomial */
} drawing;

/* By weights, operand 0, from operand 1 on. Of one dimension, so that the cumulative weights are
 * sorted. */
static acu_op *plan_categorical(acu_planning *p)
{
    const drawing *d = p->data;
    const char *name = d->count ? "multinomial" : "categorical";
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL;
    const acu_tensor *x = acui_number_operand(p, name, 0, &failed);
    if (!x)
        return failed;
    acu_shape shape = acu_tensor_shape(x);
    if (shape.rank != 1)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s by %s: weights have one dimension",
                           name, acui_value_words(&p->values[0], words));
    if (shape.dim[0] == 0)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s by no weights", name);
    int64_t n = shape.dim[0];
    acu_op *wide = acu_op_convert(acu_op_take(&p->values[0], p->site), ACU_F64, p->site);
    acu_op *sums = acu_op_retain(acu_op_scan(ACU_SCAN_SUM, wide, 0, p->site));
    acu_op *total = acu_op_select(sums, 0, n - 1, p->site);
    acu_op *offset = acu_op_take(&p->values[1], p->site);
    acu_op *u = acu_op_rand(ACU_F64, d->shape, d->seed, offset, p->site);
    acu_op *drawn = acu_op_searchsorted(sums, two(ACU_OP_MUL, u, total, p->site), true, p->site);
    acu_op *places = two(ACU_OP_MIN, drawn, acu_op_number_i64(n - 1, p->site), p->site);
    return acui_into(p, d->count ? acu_op_bincount(places, n, p->site) : places);
}

static acu_op *draw(acu_op *weights, acu_op *offset, const drawing *d, acu_site site)
{
    acu_custom custom = {.name = d->count ? "multinomial" : "categorical",
                         .fn = plan_categorical,
                         .data = d,
                         .bytes = sizeof *d};
    return acu_op_custom(custom, (acu_op *const[]){weights, offset}, 2, site);
}

acu_op *acu_op_categorical(acu_op *weights, acu_shape shape, uint64_t seed, acu_op *offset,
                           acu_site site)
{
    return draw(weights, offset, &(drawing){shape, seed, false}, site);
}

acu_op *acu_op_multinomial(acu_op *weights, int64_t draws, uint64_t seed, acu_op *offset,
                           acu_site site)
{
    return draw(weights, offset, &(drawing){ACU_SHAPE(draws), seed, true}, site);
}

acu_op *acu_op_permutation(int64_t n, uint64_t seed, acu_op *offset, acu_site site)
{
    if (n < 0 || n > INT32_MAX) {
        acu_op_release(offset);
        return acu_op_fail(ACU_ERR_SHAPE, "permutation", site,
                           "a permutation of %" PRId64 ": 0 to "
                           "2^31 - 1",
                           n);
    }
    acu_op *keys = acu_op_randint(ACU_I64, ACU_SHAPE(n), INT64_MIN, INT64_MAX, seed, offset, site);
    return acu_op_named(acu_op_argsort(keys, 0, ACU_ASCENDING, site), "permutation");
}
