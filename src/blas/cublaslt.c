/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuBLASLt as a library of vendor/: its symbols, its statuses, and what it chose for a product. */
#include "blas/cublaslt.h"

#include "base/alloc.h"
#include "base/error.h"
#include "vendor/cublas.h"

#include <string.h>

typedef struct raw_handle *raw_handle;
typedef struct raw_desc *raw_desc;
typedef struct raw_layout *raw_layout;
typedef struct raw_preference *raw_preference;

typedef struct algorithm {
    uint64_t opaque[8];
} algorithm;

/* As cuBLASLt writes it. */
typedef struct choice {
    algorithm algorithm;
    size_t bytes; /* of temporary memory */
    int status;
    float waves;
    int reserved[4];
} choice;

/* X(field, symbol, parameters) */
#define CALLS(X)                                                                                   \
    X(property, "cublasLtGetProperty", (int which, int *value))                                    \
    X(create, "cublasLtCreate", (raw_handle *))                                                    \
    X(destroy, "cublasLtDestroy", (raw_handle))                                                    \
    X(create_desc, "cublasLtMatmulDescCreate", (raw_desc *, int compute, int scale))               \
    X(destroy_desc, "cublasLtMatmulDescDestroy", (raw_desc))                                       \
    X(set_desc, "cublasLtMatmulDescSetAttribute",                                                  \
      (raw_desc, int which, const void *value, size_t bytes))                                      \
    X(create_layout, "cublasLtMatrixLayoutCreate",                                                 \
      (raw_layout *, int type, uint64_t rows, uint64_t columns, int64_t ld))                       \
    X(destroy_layout, "cublasLtMatrixLayoutDestroy", (raw_layout))                                 \
    X(set_layout, "cublasLtMatrixLayoutSetAttribute",                                              \
      (raw_layout, int which, const void *value, size_t bytes))                                    \
    X(create_preference, "cublasLtMatmulPreferenceCreate", (raw_preference *))                     \
    X(destroy_preference, "cublasLtMatmulPreferenceDestroy", (raw_preference))                     \
    X(set_preference, "cublasLtMatmulPreferenceSetAttribute",                                      \
      (raw_preference, int which, const void *value, size_t bytes))                                \
    X(choose, "cublasLtMatmulAlgoGetHeuristic",                                                    \
      (raw_handle, raw_desc, raw_layout a, raw_layout b, raw_layout c, raw_layout d,               \
       raw_preference, int most, choice *, int *count))                                            \
    X(check, "cublasLtMatmulAlgoCheck",                                                            \
      (raw_handle, raw_desc, raw_layout a, raw_layout b, raw_layout c, raw_layout d,               \
       const algorithm *, choice *))                                                               \
    X(multiply, "cublasLtMatmul",                                                                  \
      (raw_handle, raw_desc, const void *alpha, const void *a, raw_layout, const void *b,          \
       raw_layout, const void *beta, const void *c, raw_layout, void *d, raw_layout,               \
       const algorithm *, void *memory, size_t bytes, CUstream))

static struct {
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    CALLS(ACU_X)
#undef ACU_X
} lt;

static const acui_symbol symbols[] = {
#define ACU_X(field, symbol, parameters) {symbol, &lt.field},
    CALLS(ACU_X)
#undef ACU_X
};

static acu_status said(const char *call, int status)
{
    return acui_library_fail(&acui_library_CUBLASLT, call, status);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

typedef struct plan {
    raw_handle handle;
    raw_desc desc;
    raw_layout layout[ACUI_LT_MATRICES];
    choice choice;
    choice least; /* for when there is no temporary memory; its status is not 0: none */
} plan;

enum { TRANSPOSE_A = 3, TRANSPOSE_B, EPILOGUE = 7, BIAS, KEPT = 11, KEPT_LD, KEPT_STRIDE };
enum { SCALE_A = 17, SCALE_B, SCALE_D = 20, FAST = 25, BIAS_TYPE };
enum { BATCHES = 5, STRIDE };
enum { MOST_BYTES = 1, REDUCTIONS = 3, ALIGN = 5 };

static acu_status put(const plan *p, int which, const void *value, size_t bytes)
{
    return said("cublasLtMatmulDescSetAttribute", lt.set_desc(p->desc, which, value, bytes));
}

/* The choice of an algorithm looks at where these are, for their alignment. */
static acu_status stand_in(const plan *p, int which, int align)
{
    const void *place = (const void *)(uintptr_t)align;
    return align ? put(p, which, &place, sizeof place) : ACU_OK;
}

static acu_status describe(plan *p, const acui_lt_key *k)
{
    int8_t fast = k->fast;
    ACUI_TRY(said("cublasLtMatmulDescCreate", lt.create_desc(&p->desc, k->compute, k->scale)));
    ACUI_TRY(put(p, TRANSPOSE_A, &k->turned_a, sizeof k->turned_a));
    ACUI_TRY(put(p, TRANSPOSE_B, &k->turned_b, sizeof k->turned_b));
    ACUI_TRY(put(p, EPILOGUE, &k->epilogue, sizeof k->epilogue));
    if (k->bias_type >= 0)
        ACUI_TRY(put(p, BIAS_TYPE, &k->bias_type, sizeof k->bias_type));
    ACUI_TRY(stand_in(p, BIAS, k->bias_align));
    ACUI_TRY(stand_in(p, KEPT, k->kept_align));
    if (k->fast)
        ACUI_TRY(put(p, FAST, &fast, sizeof fast));
    if (!k->kept_ld)
        return ACU_OK;
    ACUI_TRY(put(p, KEPT_LD, &k->kept_ld, sizeof k->kept_ld));
    return put(p, KEPT_STRIDE, &k->kept_stride, sizeof k->kept_stride);
}

/* `rows`: of the result, which cuBLASLt has as columns; 0: its own. */
static acu_status lay_out(plan *p, const acui_lt_key *k, int i, int64_t rows)
{
    const acui_lt_matrix *m = &k->at[i];
    int64_t columns = rows && i >= ACUI_LT_C ? rows : m->columns, wide = m->rows, ld = m->ld;
    int32_t batches = rows ? 1 : (int32_t)k->batches;
    if (rows && i == ACUI_LT_B && !k->turned_b)
        columns = rows;
    if (rows && i == ACUI_LT_B && k->turned_b) {
        wide = rows;
        ld = rows;
    }
    ACUI_TRY(said("cublasLtMatrixLayoutCreate",
                  lt.create_layout(&p->layout[i], m->type, (uint64_t)wide, (uint64_t)columns, ld)));
    if (batches == 1)
        return ACU_OK;
    ACUI_TRY(said("cublasLtMatrixLayoutSetAttribute",
                  lt.set_layout(p->layout[i], BATCHES, &batches, sizeof batches)));
    return said("cublasLtMatrixLayoutSetAttribute",
                lt.set_layout(p->layout[i], STRIDE, &m->stride, sizeof m->stride));
}

static acu_status lay_out_all(plan *p, const acui_lt_key *k, int64_t rows)
{
    for (int i = 0; i < ACUI_LT_MATRICES; i++) {
        if (p->layout[i])
            lt.destroy_layout(p->layout[i]);
        p->layout[i] = NULL;
        ACUI_TRY(lay_out(p, k, i, rows));
    }
    return ACU_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Pieces of a sum may be added up in any order only if nothing is promised; in memory of their own
 * (2, 4) the order is fixed; 0: a sum is not cut. */
enum { FIXED_ORDER = 2 | 4, NOT_CUT = 0, TYPICAL_ROWS = 256 };

static uint64_t most_memory(const acu_device *device)
{
    return (uint64_t)(device->info.compute_major >= 9 ? 32 : 4) << 20;
}

static acu_status prefer(raw_preference preference, uint64_t most, const acui_lt_key *k)
{
    const char *call = "cublasLtMatmulPreferenceSetAttribute";
    uint32_t reductions = k->invariant ? NOT_CUT : FIXED_ORDER;
    ACUI_TRY(said(call, lt.set_preference(preference, MOST_BYTES, &most, sizeof most)));
    for (int i = 0; i < ACUI_LT_MATRICES; i++) {
        uint32_t align = (uint32_t)k->at[i].align;
        ACUI_TRY(said(call, lt.set_preference(preference, ALIGN + i, &align, sizeof align)));
    }
    if (!k->deterministic)
        return ACU_OK;
    return said(call, lt.set_preference(preference, REDUCTIONS, &reductions, sizeof reductions));
}

/* With at most so much temporary memory. */
static acu_status ask(const plan *p, const acu_device *device, const acui_lt_key *k, uint64_t most,
                      choice *chosen)
{
    raw_preference preference;
    int count = 0;
    const raw_layout *at = p->layout;
    ACUI_TRY(said("cublasLtMatmulPreferenceCreate", lt.create_preference(&preference)));
    acu_status st = prefer(preference, most, k);
    int status = 0;
    if (st == ACU_OK)
        status = lt.choose(p->handle, p->desc, at[0], at[1], at[2], at[3], preference, 1,
                           chosen, &count);
    lt.destroy_preference(preference);
    if (st == ACU_OK && status == 0 && (count == 0 || chosen->status != 0))
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "cuBLASLt has no algorithm for this product on "
                         "device %d", device->info.ordinal);
    return st == ACU_OK ? said("cublasLtMatmulAlgoGetHeuristic", status) : st;
}

/* Its status, or that of the choice, which is told how much memory it needs. */
static int check(const plan *p, choice *c)
{
    choice checked;
    const raw_layout *at = p->layout;
    memset(&checked, 0, sizeof checked);
    int status = lt.check(p->handle, p->desc, at[0], at[1], at[2], at[3], &c->algorithm, &checked);
    c->bytes = checked.bytes;
    return status ? status : checked.status;
}

/* The algorithm for some number of rows serves for any: each element is then summed up in the same
 * order. */
static acu_status choose_for_any_rows(plan *p, const acu_device *device, const acui_lt_key *k)
{
    ACUI_TRY(lay_out_all(p, k, TYPICAL_ROWS));
    ACUI_TRY(ask(p, device, k, most_memory(device), &p->choice));
    ACUI_TRY(lay_out_all(p, k, 0));
    return said("cublasLtMatmulAlgoCheck", check(p, &p->choice));
}

/* Not where the same bits are promised: what needs no memory sums up otherwise. That there is none
 * is no failure. */
static void choose_least(plan *p, const acu_device *device, const acui_lt_key *k)
{
    acu_error record = *acui_error();
    p->least.status = -1;
    if (!k->deterministic && p->choice.bytes > 0 && ask(p, device, k, 0, &p->least) != ACU_OK)
        p->least.status = -1;
    *acui_error() = record;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void end(void *made)
{
    plan *p = made;
    for (int i = 0; i < ACUI_LT_MATRICES; i++)
        if (p->layout[i])
            lt.destroy_layout(p->layout[i]);
    if (p->desc)
        lt.destroy_desc(p->desc);
    if (p->handle)
        lt.destroy(p->handle);
    acui_free(p);
}

static acu_status fill_in(plan *p, const acu_device *device, const acui_lt_key *k)
{
    ACUI_TRY(said("cublasLtCreate", lt.create(&p->handle)));
    ACUI_TRY(describe(p, k));
    ACUI_TRY(lay_out_all(p, k, 0));
    choice kept[2];
    if (acui_lt_kept(device, k, kept, sizeof kept) && check(p, &kept[0]) == 0) {
        p->choice = kept[0];
        p->least = kept[1];
        if (p->least.status == 0 && check(p, &p->least) != 0)
            p->least.status = -1;
        return ACU_OK;
    }
    if (k->invariant)
        ACUI_TRY(choose_for_any_rows(p, device, k));
    else
        ACUI_TRY(ask(p, device, k, most_memory(device), &p->choice));
    choose_least(p, device, k);
    kept[0] = p->choice;
    kept[1] = p->least;
    acui_lt_keep(device, k, kept, sizeof kept);
    return ACU_OK;
}

static acu_status make(acu_device *device, const void *key, bool first, void **made)
{
    (void)first;
    acui_lt_key k;
    memcpy(&k, key, sizeof k);
    plan *p = ACUI_NEW(plan);
    if (!p)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a product by cuBLASLt");
    acu_status st = fill_in(p, device, &k);
    if (st != ACU_OK)
        end(p);
    else
        *made = p;
    return st;
}

acui_library acui_library_CUBLASLT = {
    .find = {.words = "cuBLASLt",
             .stem = "libcublasLt.so",
             .names = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                       "libcublasLt.so"}},
    .id = ACU_VENDOR_CUBLASLT,
    .oldest = 11,
    .with_12 = 12,
    .with_13 = 13,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .statuses = acui_cublas_statuses,
    .status_count = ACUI_CUBLAS_STATUSES,
    .property = &lt.property,
    .keyed = true,
    .make = make,
    .end = end,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- one product ----------------------------------------------------------------------------- */

static void *at(const acui_vendor_work *work, int place)
{
    const acui_lt *l = work->data;
    return l->place[place] < 0 ? NULL : acui_vendor_at(work, (size_t)l->place[place]);
}

/* The plan is this thread's for now, and so is its description. */
static acu_status point_to(const acui_vendor_work *work, const plan *p)
{
    static const int attributes[] = {[ACUI_LT_BIAS] = BIAS,
                                     [ACUI_LT_KEPT] = KEPT,
                                     [ACUI_LT_SCALE_A] = SCALE_A,
                                     [ACUI_LT_SCALE_B] = SCALE_B,
                                     [ACUI_LT_SCALE_D] = SCALE_D};
    for (int i = ACUI_LT_BIAS; i < ACUI_LT_PLACES; i++) {
        void *memory = at(work, i);
        if (memory)
            ACUI_TRY(put(p, attributes[i], &memory, sizeof memory));
    }
    return ACU_OK;
}

typedef union number {
    float narrow;
    double wide;
    int32_t whole;
} number;

static number number_of(double value, int scale)
{
    if (scale == ACUI_CUDA_R_64F)
        return (number){.wide = value};
    if (scale == ACUI_CUDA_R_32I)
        return (number){.whole = (int32_t)value};
    return (number){.narrow = (float)value};
}

acu_status acui_lt_run(acui_vendor_work *work)
{
    const acui_lt *l = work->data;
    const plan *p = work->handle;
    const raw_layout *layout = p->layout;
    number alpha = number_of(l->alpha, l->key.scale), beta = number_of(l->beta, l->key.scale);
    void *d = at(work, ACUI_LT_D), *c = at(work, ACUI_LT_C), *memory;
    const choice *chosen = &p->choice;
    acu_status st = acui_vendor_scratch(work, chosen->bytes, &memory);
    if (st == ACU_ERR_DEVICE_MEMORY && p->least.status == 0) {
        chosen = &p->least;
        st = acui_vendor_scratch(work, chosen->bytes, &memory);
    }
    ACUI_TRY(st);
    ACUI_TRY(point_to(work, p));
    if (!c && l->key.at[ACUI_LT_C].type == l->key.at[ACUI_LT_D].type)
        c = d; /* else, as for a result of f8, C is not there */
    return said("cublasLtMatmul",
                lt.multiply(p->handle, p->desc, &alpha, at(work, ACUI_LT_A), layout[ACUI_LT_A],
                            at(work, ACUI_LT_B), layout[ACUI_LT_B], &beta, c,
                            layout[ACUI_LT_C], d, layout[ACUI_LT_D], &chosen->algorithm, memory,
                            chosen->bytes, work->stream));
}
