/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A library that poses as cuBLASLt for the software device. Sums are formed in float, in an order
 * that its choice of an algorithm says, which depends on the number of columns (the rows of acuda)
 * and on what is allowed: so promises of the same bits can be broken.
 */
#include "../vendor/fake.h"

#include <stddef.h>

enum { SUCCESS, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };
enum { SCRATCH = 512, MAGIC = 0x17ab };

static fake_driver fake;
static _Atomic(int) unordered; /* counts products whose order of sums is not fixed */

fake_driver *fake_driver_of(void)
{
    return &fake;
}

typedef struct layout {
    int type;
    int64_t rows, columns, ld, stride;
    int32_t batches;
} layout;

typedef struct desc {
    int compute, scale, turned[2], bias_type, epilogue;
    int64_t kept_ld, kept_stride;
    void *bias, *kept, *factor[2], *factor_out;
    int8_t fast;
} desc;

typedef struct preference {
    uint64_t most;
    uint32_t reductions, align[4];
} preference;

typedef struct algorithm {
    uint64_t opaque[8];
} algorithm;

typedef struct choice {
    algorithm algorithm;
    size_t bytes;
    int status;
    float waves;
    int reserved[4];
} choice;

int cublasLtGetProperty(int which, int *value);
int cublasLtCreate(void **handle);
int cublasLtDestroy(void *handle);
int cublasLtMatmulDescCreate(desc **d, int compute, int scale);
int cublasLtMatmulDescDestroy(desc *d);
int cublasLtMatmulDescSetAttribute(desc *d, int which, const void *value, size_t bytes);
int cublasLtMatrixLayoutCreate(layout **l, int type, uint64_t rows, uint64_t columns, int64_t ld);
int cublasLtMatrixLayoutDestroy(layout *l);
int cublasLtMatrixLayoutSetAttribute(layout *l, int which, const void *value, size_t bytes);
int cublasLtMatmulPreferenceCreate(preference **p);
int cublasLtMatmulPreferenceDestroy(preference *p);
int cublasLtMatmulPreferenceSetAttribute(preference *p, int which, const void *value, size_t bytes);
int cublasLtMatmulAlgoGetHeuristic(void *h, desc *d, layout *a, layout *b, layout *c, layout *out,
                                   preference *p, int most, choice *choices, int *count);
int cublasLtMatmulAlgoCheck(void *h, desc *d, layout *a, layout *b, layout *c, layout *out,
                            const algorithm *algo, choice *result);
int cublasLtMatmul(void *h, desc *d, const void *alpha, const void *a, layout *la, const void *b,
                   layout *lb, const void *beta, const void *c, layout *lc, void *out, layout *lout,
                   const algorithm *algo, void *memory, size_t bytes, void *stream);

int cublasLtGetProperty(int which, int *value)
{
    static const int version[] = {13, 1, 0};
    if (which < 0 || which > 2)
        return INVALID_VALUE;
    *value = version[which];
    return SUCCESS;
}

/* ---- descriptions ---- */

static void *make(size_t bytes)
{
    void *made = calloc(1, bytes);
    atomic_fetch_add(&fake.created, made != NULL);
    return made;
}

static int drop(void *made)
{
    free(made);
    atomic_fetch_add(&fake.destroyed, 1);
    return SUCCESS;
}

int cublasLtCreate(void **handle)
{
    if (atomic_load(&fake.fail_create))
        return atomic_load(&fake.fail_create);
    *handle = make(1);
    return SUCCESS;
}

int cublasLtDestroy(void *handle)
{
    return drop(handle);
}

int cublasLtMatmulDescCreate(desc **d, int compute, int scale)
{
    *d = make(sizeof **d);
    **d = (desc){.compute = compute, .scale = scale, .bias_type = -1, .epilogue = 1};
    return SUCCESS;
}

int cublasLtMatmulDescDestroy(desc *d)
{
    return drop(d);
}

typedef struct field {
    int which;
    size_t at, bytes;
} field;

static int set(void *of, const field *fields, size_t count, int which, const void *value,
               size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (fields[i].which == which && fields[i].bytes == bytes) {
            memcpy((char *)of + fields[i].at, value, bytes);
            return SUCCESS;
        }
    atomic_fetch_add(&fake.refused, 1);
    return INVALID_VALUE;
}

#define FIELD(number, type, name) {number, offsetof(type, name), sizeof((type *)0)->name}

int cublasLtMatmulDescSetAttribute(desc *d, int which, const void *value, size_t bytes)
{
    static const field fields[] = {
        FIELD(3, desc, turned[0]), FIELD(4, desc, turned[1]), FIELD(7, desc, epilogue),
        FIELD(8, desc, bias), FIELD(11, desc, kept), FIELD(12, desc, kept_ld),
        FIELD(13, desc, kept_stride), FIELD(17, desc, factor[0]), FIELD(18, desc, factor[1]),
        FIELD(20, desc, factor_out),
        FIELD(25, desc, fast), FIELD(26, desc, bias_type)};
    return set(d, fields, sizeof fields / sizeof *fields, which, value, bytes);
}

int cublasLtMatrixLayoutCreate(layout **l, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    if (ld < (int64_t)rows)
        return INVALID_VALUE;
    *l = make(sizeof **l);
    **l = (layout){.type = type, .rows = (int64_t)rows, .columns = (int64_t)columns, .ld = ld,
                   .batches = 1};
    return SUCCESS;
}

int cublasLtMatrixLayoutDestroy(layout *l)
{
    return drop(l);
}

int cublasLtMatrixLayoutSetAttribute(layout *l, int which, const void *value, size_t bytes)
{
    static const field fields[] = {FIELD(5, layout, batches), FIELD(6, layout, stride)};
    return set(l, fields, 2, which, value, bytes);
}

int cublasLtMatmulPreferenceCreate(preference **p)
{
    *p = make(sizeof **p);
    (*p)->reductions = 7;
    return SUCCESS;
}

int cublasLtMatmulPreferenceDestroy(preference *p)
{
    return drop(p);
}

int cublasLtMatmulPreferenceSetAttribute(preference *p, int which, const void *value, size_t bytes)
{
    static const field fields[] = {
        FIELD(1, preference, most), FIELD(3, preference, reductions),
        FIELD(5, preference, align[0]), FIELD(6, preference, align[1]),
        FIELD(7, preference, align[2]), FIELD(8, preference, align[3])};
    return set(p, fields, sizeof fields / sizeof *fields, which, value, bytes);
}

/* ---- choosing ---- */

static int64_t rows_of(const layout *l, int turned)
{
    return turned ? l->columns : l->rows;
}

static int64_t columns_of(const layout *l, int turned)
{
    return turned ? l->rows : l->columns;
}

static bool is_small(int type)
{
    return type == FAKE_R_8I || type == FAKE_R_8F_E4M3 || type == FAKE_R_8F_E5M2;
}

static bool fits(const desc *d, const layout *a, const layout *b, const layout *c,
                 const layout *out)
{
    int64_t k = columns_of(a, d->turned[0]);
    bool types = a->type == b->type || (is_small(a->type) && is_small(b->type));
    bool turns = !is_small(a->type) || (d->turned[0] && !d->turned[1]);
    bool added = out->type == FAKE_R_8F_E4M3 ? c->type == FAKE_R_16BF : c->type == out->type;
    return types && turns && added && rows_of(b, d->turned[1]) == k &&
           rows_of(a, d->turned[0]) == out->rows && columns_of(b, d->turned[1]) == out->columns &&
           c->rows == out->rows && c->columns == out->columns && a->batches == out->batches &&
           b->batches == out->batches && c->batches == out->batches;
}

int cublasLtMatmulAlgoGetHeuristic(void *h, desc *d, layout *a, layout *b, layout *c, layout *out,
                                   preference *p, int most, choice *choices, int *count)
{
    (void)h;
    bool right = fits(d, a, b, c, out) && most == 1 && p->align[0] && p->align[3];
    right &= !(d->epilogue & 128) || d->kept; /* as the real one, which looks at their alignment */
    right &= !(d->epilogue & (4 | 16 | 256)) || d->bias;
    if (atomic_load(&fake.fail_call))
        return atomic_load(&fake.fail_call);
    atomic_fetch_add(&fake.refused, !right);
    if (!right)
        return INVALID_VALUE;
    bool few = out->columns < 32;
    uint64_t cuts = few && p->reductions & 2 ? 4 : 1;
    atomic_fetch_add(&fake.handles, 1); /* counts questions */
    size_t scratch = p->most >= SCRATCH ? SCRATCH : 0;
    *choices = (choice){.bytes = scratch};
    choices->algorithm.opaque[3] = scratch;
    choices->algorithm.opaque[0] = MAGIC;
    choices->algorithm.opaque[1] = cuts;
    choices->algorithm.opaque[2] = few && p->reductions & 1;
    *count = out->rows == 13 && out->columns == 13 ? 0 : 1; /* not supported */
    return SUCCESS;
}

int cublasLtMatmulAlgoCheck(void *h, desc *d, layout *a, layout *b, layout *c, layout *out,
                            const algorithm *algo, choice *result)
{
    (void)h;
    *result = (choice){.bytes = algo->opaque[3]};
    return fits(d, a, b, c, out) && algo->opaque[0] == MAGIC ? SUCCESS : INVALID_VALUE;
}

/* ---- one product ---- */

typedef struct product {
    desc d;
    layout a, b, c, out;
    const void *at_a, *at_b, *at_c;
    void *at_out, *memory;
    double alpha, beta;
    int64_t m, n, k;
    uint64_t cuts, unordered;
    size_t bytes;
} product;

typedef struct places {
    char *a, *b, *c, *out, *bias, *kept;
    double factor, factor_out;
} places;

static char *matrix_at(fake_driver *d, const layout *l, const void *at)
{
    int64_t last = (l->batches - 1) * l->stride + (l->columns - 1) * l->ld + l->rows;
    return fake_memory(d, at, (uint64_t)last * fake_size(l->type));
}

static double element(const layout *l, const char *at, int64_t batch, int64_t row, int64_t column)
{
    return fake_get(l->type, at, batch * l->stride + column * l->ld + row);
}

static double term(const product *p, const places *at, int64_t batch, int64_t row, int64_t column,
                   int64_t k)
{
    double a = p->d.turned[0] ? element(&p->a, at->a, batch, k, row)
                              : element(&p->a, at->a, batch, row, k);
    double b = p->d.turned[1] ? element(&p->b, at->b, batch, column, k)
                              : element(&p->b, at->b, batch, k, column);
    return a * b;
}

/* In pieces, each in float but for doubles. */
static double sum_of(const product *p, const places *at, int64_t batch, int64_t row,
                     int64_t column)
{
    double whole = 0;
    bool wide = p->d.compute == 70, backwards = p->unordered && atomic_load(&unordered) % 2;
    int64_t each = (p->k + (int64_t)p->cuts - 1) / (int64_t)p->cuts;
    for (int64_t from = 0; from < p->k; from += each) {
        double part = 0;
        int64_t n = p->k - from < each ? p->k - from : each;
        for (int64_t i = 0; i < n; i++) {
            part += term(p, at, batch, row, column, from + (backwards ? n - 1 - i : i));
            part = wide ? part : (double)(float)part;
        }
        whole = wide ? whole + part : (double)(float)(whole + part);
    }
    return whole;
}

enum { RELU = 2, BIAS = 4, D_RELU = 8, SUMS = 16, GELU = 32, D_GELU = 64 };
enum { KEEP = 128, SUMS_A = 256 };

static double gelu_of(double s)
{
    return s / 2 * (1 + tanh(0.7978845608028654 * (s + 0.044715 * s * s * s)));
}

static double gelu_slope(double s)
{
    double t = tanh(0.7978845608028654 * (s + 0.044715 * s * s * s));
    return 0.5 * (1 + t) +
           0.5 * s * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * s * s);
}

/* The bits of a mask, and numbers. */
static double after(const product *p, const places *at, double s, int64_t batch, int64_t row,
                    int64_t column)
{
    int e = p->d.epilogue;
    int64_t i = batch * p->d.kept_stride + column * p->d.kept_ld + row;
    uint8_t *bits = (uint8_t *)at->kept + i / 8;
    uint8_t bit = (uint8_t)(1u << i % 8);
    if (e & D_RELU)
        return *bits & bit ? s : 0;
    if (e & D_GELU)
        return s * gelu_slope(fake_get(p->out.type, at->kept, i));
    if (e & RELU && e & KEEP)
        *bits = (uint8_t)(s > 0 ? *bits | bit : *bits & ~bit);
    if (e & GELU && e & KEEP)
        fake_put(p->out.type, at->kept, i, s);
    return e & RELU ? fmax(s, 0) : e & GELU ? gelu_of(s) : s;
}

static void multiply_column(const product *p, const places *at, int64_t batch, int64_t column)
{
    for (int64_t row = 0; row < p->m; row++) {
        double s = p->alpha * at->factor * sum_of(p, at, batch, row, column);
        if (p->beta != 0)
            s += p->beta * element(&p->c, at->c, batch, row, column);
        if (p->d.epilogue & BIAS)
            s += fake_get(p->d.bias_type, at->bias, row);
        s = at->factor_out * after(p, at, s, batch, row, column);
        fake_put(p->out.type, at->out, batch * p->out.stride + column * p->out.ld + row, s);
    }
}

/* What gradients sum up: the columns of the result, or of A. */
static void sum_up(const product *p, const places *at)
{
    for (int64_t row = 0; row < p->m && p->d.epilogue & (SUMS | SUMS_A); row++) {
        double sum = 0;
        for (int64_t b = 0; b < p->out.batches && p->d.epilogue & SUMS; b++)
            for (int64_t column = 0; column < p->n; column++)
                sum += element(&p->out, at->out, b, row, column);
        for (int64_t k = 0; k < p->k && p->d.epilogue & SUMS_A; k++)
            sum += p->d.turned[0] ? element(&p->a, at->a, 0, k, row)
                                  : element(&p->a, at->a, 0, row, k);
        fake_put(p->d.bias_type, at->bias, row, sum);
    }
}

static bool find(fake_driver *d, const product *p, places *at)
{
    int e = p->d.epilogue;
    *at = (places){.factor = 1, .factor_out = 1};
    at->a = matrix_at(d, &p->a, p->at_a);
    at->b = matrix_at(d, &p->b, p->at_b);
    at->c = p->beta != 0 ? matrix_at(d, &p->c, p->at_c) : NULL;
    at->out = matrix_at(d, &p->out, p->at_out);
    bool all = at->a && at->b && (at->c || p->beta == 0) && at->out;
    all &= p->bytes == 0 || fake_memory(d, p->memory, p->bytes) != NULL;
    if (all && p->d.factor_out) {
        const char *factor = fake_memory(d, p->d.factor_out, 4);
        at->factor_out = factor ? fake_get(FAKE_R_32F, factor, 0) : 1;
    }
    if (e & (BIAS | SUMS | SUMS_A)) {
        at->bias = fake_memory(d, p->d.bias, (uint64_t)p->m * fake_size(p->d.bias_type));
        all &= at->bias != NULL;
    }
    int64_t kept = (p->out.batches - 1) * p->d.kept_stride + p->n * p->d.kept_ld;
    if (e & KEEP) {
        uint64_t bytes = e & (RELU | D_RELU) ? (uint64_t)kept / 8
                                             : (uint64_t)kept * fake_size(p->out.type);
        at->kept = fake_memory(d, p->d.kept, bytes);
        all &= at->kept != NULL;
    }
    for (int i = 0; i < 2 && all; i++) {
        char *factor = p->d.factor[i] ? fake_memory(d, p->d.factor[i], 4) : NULL;
        at->factor *= factor ? fake_get(FAKE_R_32F, factor, 0) : 1;
    }
    return all;
}

static void run(fake_driver *d, const void *data)
{
    const product *p = data;
    places at;
    if (!find(d, p, &at))
        return;
    atomic_fetch_add(&unordered, (int)p->unordered);
    for (int64_t batch = 0; batch < p->out.batches; batch++)
        for (int64_t column = 0; column < p->n; column++)
            multiply_column(p, &at, batch, column);
    sum_up(p, &at);
}

static double number(int type, const void *at)
{
    return fake_get(type, at, 0);
}

int cublasLtMatmul(void *h, desc *d, const void *alpha, const void *a, layout *la, const void *b,
                   layout *lb, const void *beta, const void *c, layout *lc, void *out, layout *lout,
                   const algorithm *algo, void *memory, size_t bytes, void *stream)
{
    (void)h;
    product p = {.d = *d, .a = *la, .b = *lb, .c = *lc, .out = *lout, .at_a = a, .at_b = b,
                 .at_c = c, .at_out = out, .memory = memory, .alpha = number(d->scale, alpha),
                 .beta = number(d->scale, beta), .m = lout->rows, .n = lout->columns,
                 .k = columns_of(la, d->turned[0]), .cuts = algo->opaque[1],
                 .unordered = algo->opaque[2], .bytes = bytes};
    bool right = fits(d, la, lb, lc, lout) && algo->opaque[0] == MAGIC && bytes == algo->opaque[3];
    right &= !(d->epilogue & (BIAS | SUMS | SUMS_A)) || d->bias;
    right &= !(d->epilogue & KEEP) || d->kept;
    if (atomic_load(&fake.fail_call))
        return atomic_load(&fake.fail_call);
    atomic_fetch_add(&fake.refused, !right);
    return right ? fake_enqueue(stream, run, &p, sizeof p, EXECUTION_FAILED) : INVALID_VALUE;
}
