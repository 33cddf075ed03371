/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Launches of mix, as ops, and the results that they must compute (mix.h). */
#include "mix.h"

#include "raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char mix_ptx[];

static const int probes[MIX_PROBES] = {0, 301, MIX_N - 3, MIX_N - 1};

static uint32_t hash(uint32_t a, uint32_t b)
{
    uint32_t h = (a + 1) * 0x9e3779b9u ^ (b + 1) * 0x85ebca6bu;
    h = (h ^ h >> 16) * 0x7feb352du;
    return h ^ h >> 15;
}

static uint32_t x_element(int x, int i)
{
    return hash((uint32_t)x, (uint32_t)i);
}

static uint32_t y_element(int y, int i)
{
    return hash((uint32_t)y + 1000, (uint32_t)i);
}

static acu_tensor *make_tensor(const bench *b, int which, uint32_t (*element)(int, int))
{
    uint32_t host[MIX_N];
    acu_tensor *tensor;
    MUST(acu_tensor_alloc(b->device, ACU_U32, ACU_SHAPE(MIX_N), &tensor));
    for (int i = 0; i < MIX_N; i++)
        host[i] = element(which, i);
    MUST(acu_write_sync(tensor, host, sizeof host));
    return tensor;
}

mix mix_open(const bench *b, int ys)
{
    mix m = {.b = b, .ys = ys};
    if (ys > MIX_MOST_Y)
        bench_die("too many tensors");
    m.fast = bench_kernel(b, mix_ptx, "mix");
    m.slow = bench_kernel(b, mix_ptx, "mix_slow");
    for (int i = 0; i < MIX_X; i++) {
        m.x[i] = make_tensor(b, i, x_element);
        m.x_address[i] = acu_tensor_address(m.x[i]);
    }
    for (int i = 0; i < ys; i++) {
        m.y[i] = make_tensor(b, i, y_element);
        m.y_address[i] = acu_tensor_address(m.y[i]);
        for (int p = 0; p < MIX_PROBES; p++)
            m.expected[i][p] = y_element(i, probes[p]);
    }
    return m;
}

void mix_verify(const mix *m)
{
    uint32_t host[MIX_N];
    for (int y = 0; y < m->ys; y++) {
        MUST(acu_read_sync(m->y[y], host, sizeof host));
        for (int p = 0; p < MIX_PROBES; p++)
            if (host[probes[p]] != m->expected[y][p])
                bench_wrong("%s: tensor %d, element %d: %u, not %u", m->b->name, y, probes[p],
                            host[probes[p]], m->expected[y][p]);
    }
}

void mix_close(mix *m)
{
    mix_verify(m);
    for (int i = 0; i < MIX_X; i++)
        acu_tensor_release(m->x[i]);
    for (int i = 0; i < m->ys; i++)
        acu_tensor_release(m->y[i]);
    acu_kernel_release(m->fast);
    acu_kernel_release(m->slow);
}

/* ---- one launch ---- */

static uint32_t factor_of(uint32_t ticket, int i)
{
    return hash(ticket + 77, (uint32_t)i);
}

static uint32_t length_of(uint32_t ticket, int i)
{
    return MIX_N - (ticket + (uint32_t)i) % 5;
}

static int x_of(uint32_t ticket, int i)
{
    return (int)((ticket + 3 * (uint32_t)i) % MIX_X);
}

void mix_fill(const mix *m, mix_args *args, int y, uint32_t ticket, int i)
{
    args->x_index = x_of(ticket, i);
    args->y = m->y_address[y];
    args->x = m->x_address[args->x_index];
    args->a = factor_of(ticket, i);
    args->n = length_of(ticket, i);
    args->ticks = m->ticks;
    args->params[0] = &args->y;
    args->params[1] = &args->x;
    args->params[2] = &args->a;
    args->params[3] = &args->n;
    args->params[4] = &args->ticks;
}

void mix_expect(mix *m, int y, uint32_t ticket, int count)
{
    for (int i = 0; i < count; i++)
        for (int p = 0; p < MIX_PROBES; p++)
            if ((uint32_t)probes[p] < length_of(ticket, i))
                m->expected[y][p] = m->expected[y][p] * 1664525u +
                                    factor_of(ticket, i) * x_element(x_of(ticket, i), probes[p]);
}

static acu_op *launch(const mix *m, acu_arg y, uint32_t ticket, int i)
{
    acu_arg x = acu_in(m->x[x_of(ticket, i)]), a = acu_u32(factor_of(ticket, i));
    acu_arg n = acu_u32(length_of(ticket, i));
    if (m->ticks)
        return acu_launch(m->slow, acu_for_num_elems(MIX_N), y, x, a, n, acu_u32(m->ticks));
    return acu_launch(m->fast, acu_for_num_elems(MIX_N), y, x, a, n);
}

acu_op *mix_launch(const mix *m, int y, uint32_t ticket, int i)
{
    return launch(m, acu_inout(m->y[y]), ticket, i);
}

acu_op *mix_chain(const mix *m, int y, uint32_t ticket, int count)
{
    acu_op *ops[MIX_MOST_CHAIN];
    for (int i = 0; i < count; i++)
        ops[i] = mix_launch(m, y, ticket, i);
    return acu_op_zip(ops, (size_t)count, ACU_SITE);
}

acu_op *mix_nested(const mix *m, int y, uint32_t ticket, int count)
{
    acu_op *op = mix_launch(m, y, ticket, 0);
    for (int i = 1; i < count; i++)
        op = launch(m, acu_inout(acu_first(op)), ticket, i);
    return op;
}

/* ---- how long ---- */

/* Microseconds of ten launches of so many ticks, the shortest of five. */
static double time_ticks(mix *m, CUstream stream, uint32_t ticks)
{
    double best = 1e18;
    m->ticks = ticks;
    for (int turn = 0; turn < 5; turn++) {
        MUST_CU(m->b->cu->StreamSynchronize(stream));
        double start = bench_now_us();
        raw_chain(m, stream, 0, 1, 10);
        MUST_CU(m->b->cu->StreamSynchronize(stream));
        double us = bench_now_us() - start;
        mix_expect(m, 0, 1, 10);
        best = us < best ? us : best;
    }
    return best;
}

void mix_calibrate(mix *m, double us)
{
    m->ticks = 100;
    if (m->b->quick || acu_device_info_of(m->b->device)->software)
        return;
    bench_settle(m->b);
    bench_enter(m->b);
    CUstream stream = raw_stream(m->b);
    double shorter = time_ticks(m, stream, 40000), longer = time_ticks(m, stream, 240000);
    m->ticks = (uint32_t)(us / ((longer - shorter) / 10.0 / 200000.0));
    MUST_CU(m->b->cu->StreamDestroy(stream));
    bench_leave(m->b);
}

/* ---- more kernels ---- */

/* Where the text of that entry begins. */
static const char *find_entry(const char *name)
{
    static const char entry[] = ".visible .entry ";
    const char *at = mix_ptx;
    while ((at = strstr(at, entry)) && strncmp(at + strlen(entry), name, strlen(name)) != 0)
        at++;
    return at;
}

/* The PTX of `count` entries, each of which is mix_f0000 under another name of the same length. */
static char *repeat_entry(int count)
{
    static const char name[] = "mix_f0000";
    const char *entry = find_entry(name), *end = entry ? strstr(entry, "\n}") : NULL;
    const char *header_end = strstr(mix_ptx, "\t// .globl");
    if (!end || !header_end || header_end > entry)
        bench_die("mix.cu's PTX is not as expected");
    size_t header = (size_t)(header_end - mix_ptx), bytes = (size_t)(end + 3 - entry);
    char *text = malloc(header + bytes * (size_t)count + 1), *to = text, other[16];
    if (!text)
        bench_die("no memory");
    memcpy(to, mix_ptx, header);
    to += header;
    for (int i = 0; i < count; i++, to += bytes) {
        memcpy(to, entry, bytes);
        to[bytes] = '\0';
        snprintf(other, sizeof other, "mix_f%04d", i % 10000);
        for (char *at = to; (at = strstr(at, name)); at++)
            memcpy(at, other, strlen(name));
    }
    *to = '\0';
    return text;
}

mix_forms mix_forms_load(const mix *m, int count)
{
    mix_forms forms = {.count = count};
    char *ptx = repeat_entry(count), name[16];
    forms.kernels = calloc((size_t)count, sizeof(acu_kernel *));
    if (!forms.kernels)
        bench_die("no memory");
    MUST(acu_module_load(m->b->device, ACU_PTX(NULL, ptx), &forms.module));
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "mix_f%04d", i);
        MUST(acu_kernel_get(forms.module, name, &forms.kernels[i]));
    }
    free(ptx);
    return forms;
}

void mix_forms_release(mix_forms *forms)
{
    for (int i = 0; i < forms->count; i++)
        acu_kernel_release(forms->kernels[i]);
    acu_module_release(forms->module);
    free(forms->kernels);
}
