/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random programs of collectives, and a serial model of them. All ranks know what the others give,
 * as it comes from the same seed.
 */
#ifndef ACUDA_TESTS_COMM_MODEL_H
#define ACUDA_TESTS_COMM_MODEL_H

#include "support/support.h"

#include <acuda/comm.h>
#include <math.h>
#include <stdio.h>

enum { MOST = 8, ELEMENTS = 40 };

/* Of a process; where threads play processes, of each. */
static _Thread_local int ranks, first; /* how many there are, and the first here */
static _Thread_local size_t here;      /* devices */
static _Thread_local acu_device *devices[MOST];

/* ---- numbers --------------------------------------------------------------------------------- */

static _Thread_local uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* The first REDUCED can be reduced in any way, those from FLOATS on have a mean. */
static const acu_dtype dtypes[] = {ACU_I8,  ACU_U8,  ACU_I16, ACU_U16, ACU_I32,  ACU_U32, ACU_I64,
                                   ACU_U64, ACU_F32, ACU_F64, ACU_F16, ACU_BF16, ACU_TF32,
                                   ACU_F8E4M3FN, ACU_F8E5M2, ACU_BOOL, ACU_C64, ACU_C128,
                                   ACU_F8E8M0FNU, ACU_F4E2M1FNX2};
enum { DTYPES = 20, REDUCED = 15, FLOATS = 8 };

/* A float of that many bits of fraction, the nearest, with ties to even. */
static uint32_t small_of(double value, int fraction, int bias)
{
    int exponent = 0;
    frexp(value, &exponent); /* of [1/2, 1) */
    int e = value == 0 || exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double units = nearbyint(ldexp(value, fraction - e));
    return (uint32_t)units + ((uint32_t)(e + bias - 1) << fraction);
}

/* Numbers from 0 on. Those of 8 bits end with the largest. */
static void put(acu_dtype dtype, void *memory, size_t i, double value)
{
    char *at = (char *)memory + i * acu_dtype_bytes(dtype);
    float parts[2] = {(float)value, (float)-value};
    double wide[2] = {2 * value, -value};
    uint32_t bits = 0;
    memset(at, 0, acu_dtype_bytes(dtype));
    switch (dtype) {
    case ACU_F32: case ACU_TF32: case ACU_C64: memcpy(at, parts, acu_dtype_bytes(dtype)); return;
    case ACU_F64: memcpy(at, &value, sizeof value); return;
    case ACU_C128: memcpy(at, wide, sizeof wide); return;
    case ACU_F16: bits = small_of(value, 10, 15); break;
    case ACU_BF16: bits = small_of(value, 7, 127); break;
    case ACU_F8E4M3FN: bits = small_of(value < 448 ? value : 448, 3, 7); break;
    case ACU_F8E5M2: bits = small_of(value < 57344 ? value : 57344, 2, 15); break;
    default: bits = (uint32_t)value; break;
    }
    memcpy(at, &bits, acu_dtype_bytes(dtype) < 4 ? acu_dtype_bytes(dtype) : 4);
}

static acu_tensor *tensor_of(acu_device *device, bool host, acu_dtype dtype, const int *values,
                             int n)
{
    char memory[ELEMENTS * MOST * 16];
    acu_tensor *t;
    for (int i = 0; i < n; i++)
        put(dtype, memory, (size_t)i, values[i]);
    if (host) {
        assert_works(acu_tensor_alloc_pinned(device, dtype, ACU_SHAPE(n), &t));
        memcpy(acu_tensor_host(t), memory, acu_tensor_bytes(t));
    } else {
        assert_works(acu_tensor_alloc(device, dtype, ACU_SHAPE(n), &t));
        assert_works(acu_write_sync(t, memory, acu_tensor_bytes(t)));
    }
    return t;
}

static _Thread_local char about[200]; /* the collective that is checked */

static void holds_numbers(acu_tensor *t, const double *values)
{
    char want[ELEMENTS * MOST * 16], is[ELEMENTS * MOST * 16];
    int64_t n = acu_tensor_elements(t);
    for (int64_t i = 0; i < n; i++)
        put(acu_tensor_dtype(t), want, (size_t)i, values[i]);
    assert_works(acu_read_sync(t, is, acu_tensor_bytes(t)));
    if (memcmp(is, want, acu_tensor_bytes(t)))
        print_message("%s\n", about);
    assert_memory_equal(is, want, acu_tensor_bytes(t));
}

static void holds(acu_tensor *t, const int *values)
{
    double numbers[ELEMENTS * MOST];
    for (int64_t i = 0; i < acu_tensor_elements(t); i++)
        numbers[i] = values[i];
    holds_numbers(t, numbers);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* One collective: what each rank has before and after, in place or not. */
typedef struct model {
    acu_collective what;
    acu_dtype dtype;
    int n;                            /* elements of a part */
    bool in_place;
    bool has_in[MOST], has_out[MOST];
    int in_count, out_count;
    int in[MOST][ELEMENTS * MOST];
    int out[MOST][ELEMENTS * MOST];   /* before */
    double after[MOST][ELEMENTS * MOST];
} model;

static int reduce_two(acu_reduction how, int a, int b)
{
    return how == ACU_REDUCE_PROD  ? a * b
           : how == ACU_REDUCE_MIN ? (a < b ? a : b)
           : how == ACU_REDUCE_MAX ? (a > b ? a : b)
                                   : a + b;
}

/* What rank r gives, from its element i on. */
static const int *gives(const model *m, int r, int i)
{
    return m->has_in[r] ? &m->in[r][i] : &m->out[r][i];
}

static double reduced(const model *m, int i)
{
    int x = *gives(m, 0, i);
    for (int r = 1; r < ranks; r++)
        x = reduce_two(m->what.reduction, x, *gives(m, r, i));
    return m->what.reduction == ACU_REDUCE_MEAN ? (double)x / ranks : x;
}

/* Where rank r's part is in what it gives to an all-gather or gather. */
static int own(const model *m, int r)
{
    return m->has_in[r] ? 0 : r * m->n;
}

static void run_rank(model *m, int r)
{
    int n = m->n, root = m->what.rank;
    double *after = m->after[r];
    for (int i = 0; i < n; i++)
        switch (m->what.kind) {
        case ACU_ALL_REDUCE:
        case ACU_REDUCE:
            after[i] = m->what.kind == ACU_REDUCE && r != root ? after[i] : reduced(m, i);
            break;
        case ACU_BROADCAST:
            after[i] = m->out[root][i];
            break;
        case ACU_ALL_GATHER:
        case ACU_GATHER:
            for (int j = 0; j < ranks; j++)
                after[j * n + i] = *gives(m, j, own(m, j) + i);
            break;
        case ACU_REDUCE_SCATTER:
            after[i] = reduced(m, r * n + i);
            break;
        case ACU_ALL_TO_ALL:
            for (int j = 0; j < ranks; j++)
                after[j * n + i] = *gives(m, j, r * n + i);
            break;
        default: /* scatter */
            after[i] = *gives(m, root, r * n + i);
        }
}

/* In place, a reduce-scatter's result is in the own part, and a scatter's root keeps everything. */
static void run_model(model *m)
{
    for (int r = 0; r < ranks; r++) {
        for (int i = 0; i < m->out_count; i++)
            m->after[r][i] = m->out[r][i];
        if (!m->has_out[r])
            continue;
        if (m->what.kind == ACU_REDUCE_SCATTER && !m->has_in[r]) {
            for (int i = 0; i < m->n; i++)
                m->after[r][r * m->n + i] = reduced(m, r * m->n + i);
            continue;
        }
        run_rank(m, r);
    }
}

/* What is reduced, and how. With NCCL each rank's part of a mean is rounded before it is added, and
 * c128 is not divided to the last bit: but where the number of ranks is a power of two. */
static void choose_reduction(model *m, bool nccl)
{
    static const acu_reduction hows[] = {ACU_REDUCE_SUM, ACU_REDUCE_PROD, ACU_REDUCE_MIN,
                                         ACU_REDUCE_MAX, ACU_REDUCE_MEAN};
    bool exact = (ranks & (ranks - 1)) == 0;
    m->what.reduction = hows[random_below(nccl && !exact ? 4 : 5)];
    bool mean = m->what.reduction == ACU_REDUCE_MEAN;
    m->dtype = dtypes[mean ? FLOATS + random_below(REDUCED - FLOATS) : random_below(REDUCED)];
    if ((mean || m->what.reduction == ACU_REDUCE_SUM) && random_below(4) == 0)
        m->dtype = random_below(2) || (mean && !exact) ? ACU_C64 : ACU_C128;
}

static void choose(model *m, bool nccl)
{
    bool only_root, whole_in, whole_out;
    memset(m, 0, sizeof *m);
    m->what.kind = (acu_collective_kind)random_below(ACU_SCATTER + 1);
    bool reduces = m->what.kind == ACU_ALL_REDUCE || m->what.kind == ACU_REDUCE ||
                   m->what.kind == ACU_REDUCE_SCATTER;
    m->what.rank = (int)random_below((uint32_t)ranks);
    m->dtype = dtypes[random_below(DTYPES)];
    if (reduces)
        choose_reduction(m, nccl);
    m->n = random_below(8) ? 1 + (int)random_below(ELEMENTS) : 0;
    m->in_place = random_below(2) || m->what.kind == ACU_BROADCAST;
    only_root = m->what.kind == ACU_GATHER || m->what.kind == ACU_REDUCE;
    whole_in = m->what.kind == ACU_REDUCE_SCATTER || m->what.kind == ACU_ALL_TO_ALL ||
               m->what.kind == ACU_SCATTER;
    whole_out = m->what.kind == ACU_ALL_GATHER || m->what.kind == ACU_ALL_TO_ALL ||
                m->what.kind == ACU_GATHER ||
                (m->in_place && m->what.kind == ACU_REDUCE_SCATTER);
    m->in_count = whole_in ? ranks * m->n : m->n;
    m->out_count = whole_out ? ranks * m->n : m->n;
    for (int r = 0; r < ranks; r++) {
        bool is_root = r == m->what.rank;
        m->has_in[r] = !m->in_place;
        m->has_out[r] = !only_root || is_root;
        if (m->what.kind == ACU_SCATTER) { /* in place: the root's part stays in `in` */
            m->has_in[r] = is_root;
            m->has_out[r] = !is_root || !m->in_place;
        }
        if (only_root && !is_root)
            m->has_in[r] = true;
        int most = m->dtype == ACU_BOOL ? 2 : 4;
        for (int i = 0; i < ranks * m->n; i++) {
            m->in[r][i] = (int)random_below((uint32_t)most);
            m->out[r][i] = (int)random_below((uint32_t)most);
        }
    }
    run_model(m);
}

/* ---- running one ----------------------------------------------------------------------------- */

typedef struct running {
    model m;
    acu_tensor *in[MOST], *out[MOST]; /* of this process's ranks */
    acu_future *future;
} running;

static acu_op *make_one(running *x, acu_comm *comm)
{
    acu_op *in[MOST] = {NULL}, *out[MOST] = {NULL};
    bool any_in = false, any_out = false;
    model *m = &x->m;
    choose(m, strcmp(acu_comm_library(comm), "NCCL") == 0);
    bool host = random_below(4) == 0;
    for (size_t i = 0; i < here; i++) {
        int r = first + (int)i;
        x->in[i] = x->out[i] = NULL;
        if (m->has_in[r])
            x->in[i] = tensor_of(devices[i], host, m->dtype, m->in[r], m->in_count);
        if (m->has_out[r])
            x->out[i] = tensor_of(devices[i], host, m->dtype, m->out[r], m->out_count);
        in[i] = x->in[i] ? acu_value(x->in[i]) : NULL;
        out[i] = x->out[i] ? acu_value(x->out[i]) : NULL;
        any_in |= in[i] != NULL;
        any_out |= out[i] != NULL;
    }
    return acu_op_collective(comm, &m->what, any_in ? in : NULL, any_out ? out : NULL, here,
                             ACU_SITE);
}

static void check(running *x)
{
    snprintf(about, sizeof about, "kind %d, reduction %d, root %d, %s, %d elements, %s",
             (int)x->m.what.kind, (int)x->m.what.reduction, x->m.what.rank,
             acu_dtype_name(x->m.dtype), x->m.n, x->m.in_place ? "in place" : "not in place");
    assert_works(acu_future_wait(x->future, ACU_FOREVER));
    acu_future_release(x->future);
    for (size_t i = 0; i < here; i++) {
        if (x->out[i])
            holds_numbers(x->out[i], x->m.after[first + (int)i]);
        if (x->in[i])
            holds(x->in[i], x->m.in[first + (int)i]); /* only read */
        acu_tensor_release(x->in[i]);
        acu_tensor_release(x->out[i]);
    }
}

static void random_programs(acu_comm *comm, int count)
{
    enum { AT_ONCE = 6 };
    static _Thread_local running all[AT_ONCE];
    for (int i = 0; i < count; i++) {
        acu_op *ops[AT_ONCE];
        seed = 77 + (uint64_t)i;
        for (int k = 0; k < AT_ONCE; k++)
            ops[k] = make_one(&all[k], comm);
        acu_future *f = i % 3 ? NULL : test_submit(devices[0], acu_comm_group(comm, ops, AT_ONCE));
        for (int k = 0; k < AT_ONCE; k++)
            all[k].future = f ? acu_future_retain(f) : test_submit(devices[0], ops[k]);
        acu_future_release(f);
        for (int k = AT_ONCE; k-- > 0;)
            check(&all[k]);
    }
}

#endif
