/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layouts: reducing dimensions, finding overlaps, and walking over host memory. */
#include "memory/layout.h"

#include "base/bulk.h"
#include "memory/memory.h"

#include <string.h>

/* ---- making ---- */

/* Appends a dimension, or extends the previous one if both sides continue without a gap. */
static void push(acui_layout *l, uint64_t dim, int64_t dst, int64_t src)
{
    int last = l->rank - 1;
    if (last >= 0 && l->dst[last] == dst * (int64_t)dim && l->src[last] == src * (int64_t)dim) {
        l->dim[last] *= dim;
        l->dst[last] = dst;
        l->src[last] = src;
        return;
    }
    l->dim[l->rank] = dim;
    l->dst[l->rank] = dst;
    l->src[l->rank] = src;
    l->rank++;
}

/* The fastest dimension becomes part of the run, if it has no gaps. */
static void extend_run(acui_layout *l)
{
    int last = l->rank - 1;
    if (last < 0 || l->dst[last] != (int64_t)l->run || l->src[last] != (int64_t)l->run)
        return;
    l->run *= l->dim[last];
    l->rank--;
}

static acui_layout make(acu_shape shape, size_t element, const int64_t *dst, const int64_t *src)
{
    acui_layout l = {.run = element, .element = (uint32_t)element};
    int64_t elements = acu_shape_elements(shape);
    l.bytes = elements > 0 ? (uint64_t)elements * element : 0;
    for (int d = 0; d < shape.rank && l.bytes; d++)
        if (shape.dim[d] != 1) /* otherwise the strides are never used, and may be anything */
            push(&l, (uint64_t)shape.dim[d], dst[d] * (int64_t)element, src[d] * (int64_t)element);
    extend_run(&l);
    return l;
}

acui_layout acui_layout_of(const acu_tensor *dst, const acu_tensor *src)
{
    return make(dst->shape, acu_dtype_bytes(dst->dtype), dst->strides, src->strides);
}

acui_layout acui_layout_to_dense(const acu_tensor *src)
{
    int64_t dense[ACU_MAX_RANK];
    acui_dense_strides(src->shape, dense);
    return make(src->shape, acu_dtype_bytes(src->dtype), dense, src->strides);
}

acui_layout acui_layout_from_dense(const acu_tensor *dst)
{
    int64_t dense[ACU_MAX_RANK];
    acui_dense_strides(dst->shape, dense);
    return make(dst->shape, acu_dtype_bytes(dst->dtype), dst->strides, dense);
}

static void swap_dims(acui_layout *l, int a, int b)
{
    uint64_t dim = l->dim[a];
    int64_t dst = l->dst[a], src = l->src[a];
    l->dim[a] = l->dim[b], l->dst[a] = l->dst[b], l->src[a] = l->src[b];
    l->dim[b] = dim, l->dst[b] = dst, l->src[b] = src;
}

void acui_layout_sort(acui_layout *l)
{
    for (int i = 1; i < l->rank; i++)
        for (int k = i; k > 0 && (l->dst[k - 1] < l->dst[k] ||
                                  (l->dst[k - 1] == l->dst[k] && l->src[k - 1] < l->src[k]));
             k--)
            swap_dims(l, k - 1, k);
    acui_layout sorted = *l;
    l->rank = 0;
    for (int d = 0; d < sorted.rank; d++)
        push(l, sorted.dim[d], sorted.dst[d], sorted.src[d]);
    extend_run(l);
}

/* ---- overlap: whether sum(x[d] * stride[d]) comes near `distance` ---- */

typedef struct terms {
    int count;
    int64_t stride[2 * ACU_MAX_RANK], low[2 * ACU_MAX_RANK], high[2 * ACU_MAX_RANK];
    int64_t least[2 * ACU_MAX_RANK + 1], most[2 * ACU_MAX_RANK + 1]; /* of the sum from there on */
    int64_t below, above; /* how far below or above `distance` still counts as near, exclusive */
    int looks;            /* left */
} terms;

static void add_term(terms *t, int64_t stride, int64_t low, int64_t high)
{
    int i = 0;
    while (i < t->count && t->stride[i] > stride)
        i++;
    if (i < t->count && t->stride[i] == stride) {
        t->low[i] += low;
        t->high[i] += high;
        return;
    }
    for (int k = t->count++; k > i; k--) {
        t->stride[k] = t->stride[k - 1];
        t->low[k] = t->low[k - 1];
        t->high[k] = t->high[k - 1];
    }
    t->stride[i] = stride;
    t->low[i] = low;
    t->high[i] = high;
}

static void add_up(terms *t)
{
    t->least[t->count] = t->most[t->count] = 0;
    for (int i = t->count - 1; i >= 0; i--) {
        t->least[i] = t->least[i + 1] + t->low[i] * t->stride[i];
        t->most[i] = t->most[i + 1] + t->high[i] * t->stride[i];
    }
}

/* Rounded down; the divisor is positive. */
static int64_t divide(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q * b > a ? q - 1 : q;
}

/* Strides decrease, so only few values of one leave a remainder that the following ones can make
 * up. */
static bool comes_near(terms *t, int from, int64_t distance)
{
    if (from == t->count)
        return distance < t->below && -distance < t->above;
    int64_t stride = t->stride[from];
    int64_t low = divide(distance - t->below - t->most[from + 1], stride);
    int64_t high = divide(distance + t->above - t->least[from + 1], stride) + 1;
    low = low > t->low[from] ? low : t->low[from];
    high = high < t->high[from] ? high : t->high[from];
    for (int64_t x = low; x <= high; x++)
        if (t->looks-- <= 0 || comes_near(t, from + 1, distance - x * stride))
            return true;
    return false;
}

enum { LOOKS = 20000 };

static void add_side(terms *t, const acui_layout *l, const int64_t *strides, bool moves_back)
{
    for (int d = 0; d < l->rank; d++) {
        int64_t last = (int64_t)l->dim[d] - 1;
        if (strides[d])
            add_term(t, strides[d], moves_back ? -last : 0, moves_back ? 0 : last);
    }
}

bool acui_layout_overlaps(const acui_layout *l, uint64_t dst, uint64_t src)
{
    terms t = {.below = (int64_t)l->run, .above = (int64_t)l->run, .looks = LOOKS};
    if (l->bytes == 0)
        return false;
    add_side(&t, l, l->dst, false);
    add_side(&t, l, l->src, true);
    add_up(&t);
    return comes_near(&t, 0, (int64_t)(src - dst));
}

bool acui_tensors_overlap(const acu_tensor *a, const acu_tensor *b)
{
    acui_extent of_a = acui_tensor_extent(a), of_b = acui_tensor_extent(b);
    if (a->buffer != b->buffer || a->empty || b->empty || !acui_extents_overlap(&of_a, &of_b))
        return false;
    acui_layout x = acui_layout_to_dense(a), y = acui_layout_to_dense(b);
    terms t = {.below = (int64_t)x.run, .above = (int64_t)y.run, .looks = LOOKS};
    add_side(&t, &x, x.src, false);
    add_side(&t, &y, y.src, true);
    add_up(&t);
    return comes_near(&t, 0, (int64_t)(of_b.begin - of_a.begin));
}

/* ---- host memory ---- */

typedef struct walk {
    const acui_layout *l;
    uint64_t at[ACU_MAX_RANK];
    char *dst;
    const char *src;
} walk;

static void go_to(walk *w, uint64_t run)
{
    for (int d = w->l->rank - 1; d >= 0; d--) {
        w->at[d] = run % w->l->dim[d];
        run /= w->l->dim[d];
        w->dst += (int64_t)w->at[d] * w->l->dst[d];
        w->src += (int64_t)w->at[d] * w->l->src[d];
    }
}

/* Advances by `n` runs in the fastest dimension, which has at least that many left. */
static void step(walk *w, uint64_t n)
{
    const acui_layout *l = w->l;
    int d = l->rank - 1;
    w->at[d] += n;
    w->dst += (int64_t)n * l->dst[d];
    w->src += (int64_t)n * l->src[d];
    while (d > 0 && w->at[d] == l->dim[d]) {
        w->at[d] = 0;
        w->dst += l->dst[d - 1] - (int64_t)l->dim[d] * l->dst[d];
        w->src += l->src[d - 1] - (int64_t)l->dim[d] * l->src[d];
        w->at[--d]++;
    }
}

#define ACUI_RUNS(bytes)                                                                           \
    for (uint64_t i = 0; i < n; i++, dst += to, src += from)                                       \
        memcpy(dst, src, bytes)

static void copy_runs(char *dst, const char *src, int64_t to, int64_t from, uint64_t n,
                      uint64_t run)
{
    switch (run) {
    case 1: ACUI_RUNS(1); break;
    case 2: ACUI_RUNS(2); break;
    case 4: ACUI_RUNS(4); break;
    case 8: ACUI_RUNS(8); break;
    case 16: ACUI_RUNS(16); break;
    default: ACUI_RUNS(run);
    }
}

void acui_layout_copy(const acui_layout *l, char *dst, const char *src, uint64_t begin,
                      uint64_t end, bool past_cache)
{
    if (l->rank == 0) {
        acui_bulk_copy(dst + begin, src + begin, end - begin, past_cache);
        return;
    }
    walk w = {.l = l, .dst = dst, .src = src};
    int fast = l->rank - 1;
    uint64_t run = l->run, within = begin % run;
    go_to(&w, begin / run);
    while (begin < end) {
        uint64_t left = l->dim[fast] - w.at[fast], whole = (end - begin) / run;
        if (within || whole == 0) { /* part of a run, at either end */
            uint64_t n = run - within < end - begin ? run - within : end - begin;
            memcpy(w.dst + within, w.src + within, n);
            begin += n;
            within = 0;
            left = whole = 1;
        } else {
            whole = whole < left ? whole : left;
            copy_runs(w.dst, w.src, l->dst[fast], l->src[fast], whole, run);
            begin += whole * run;
        }
        step(&w, whole);
    }
}
