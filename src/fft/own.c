/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fourier transforms by acuda's own kernels: one dimension after the other, and each by
 *
 *   one launch     if its length fits into shared memory and has only small factors;
 *   two or more    if it does not fit: as columns and rows of a matrix, turned in between;
 *   Bluestein      if it has other factors: a convolution, by transforms of a power of two.
 */
#include "fft/own.h"

#include <stdio.h>

/* Up to four dimensions of lines, with their strides on both sides, in numbers. */
typedef struct grid {
    int rank;
    int64_t dim[4], out[4], in[4];
} grid;

typedef struct plan {
    acu_planning *p;
    const acui_fft_own *t;
} plan;

static int64_t lines_of(const grid *g)
{
    int64_t lines = 1;
    for (int d = 0; d < g->rank; d++)
        lines *= g->dim[d];
    return lines;
}

static grid with(grid g, int64_t dim, int64_t out, int64_t in)
{
    g.dim[g.rank] = dim;
    g.out[g.rank] = out;
    g.in[g.rank++] = in;
    return g;
}

/* How many factors n has; 0 with n above 1: it has others than 2, 3, 5 and 7. */
static int factors(int64_t n, int radix[ACUI_FFT_RADICES])
{
    static const int known[] = {8, 7, 5, 4, 3, 2};
    int count = 0;
    for (int i = 0; i < 6; i++)
        for (; n % known[i] == 0 && count < ACUI_FFT_RADICES; n /= known[i])
            radix[count++] = known[i];
    return n == 1 ? count : 0;
}

static bool is_smooth(int64_t n)
{
    for (int i = 2; i <= 7; i++)
        while (n % i == 0)
            n /= i;
    return n == 1;
}

static int64_t most_of(const plan *f)
{
    return f->t->dtype == ACU_F64 ? ACUI_FFT_BLOCK_D : ACUI_FFT_BLOCK_F;
}

static acu_op *complex_numbers(const plan *f, int64_t count)
{
    return acu_op_named(acu_op_empty(f->t->dtype, ACU_SHAPE(count, 2), f->p->site), f->t->name);
}

/* Yields out and x. x may be NULL: then what is in out is read. */
static acu_op *launch(const plan *f, const char *kernel, int64_t blocks, acu_op *out, acu_op *x,
                      acu_arg params)
{
    char name[16];
    snprintf(name, sizeof name, "%s_%c", kernel, f->t->dtype == ACU_F64 ? 'd' : 'f');
    const acu_arg args[] = {acu_arg_op(out, x ? ACU_WRITE : ACU_UPDATE),
                            x ? acu_arg_op(x, ACU_READ) : acu_u64(0), params};
    return acui_launch(f->p, f->t->name, "acuda.fft", name, blocks, args, 3);
}

static acu_op *first(const plan *f, acu_op *launched)
{
    return acu_op_nth(launched, 0, f->p->site);
}

/* ---- one launch ------------------------------------------------------------------------------ */

/* Lines of a block: as many as fit, but not so many that few blocks are left. */
static int lines_each(const plan *f, int64_t lines, int64_t n)
{
    int64_t fit = most_of(f) / n, wanted = lines / 256;
    wanted = wanted < 4 ? 4 : wanted;
    fit = fit < ACUI_FFT_LINES ? fit : ACUI_FFT_LINES;
    return (int)(fit < wanted ? fit : wanted);
}

static acu_op *pass(const plan *f, const grid *g, int64_t n, acui_fft_side in, acui_fft_side out,
                    int64_t whole, acu_op *x, acu_op *to)
{
    acui_fft_pass p = {.lines = lines_of(g), .n = (int)n, .in = in, .out = out, .whole = whole};
    p.each = lines_each(f, p.lines, n);
    p.radices = factors(n, p.radix);
    p.columns = whole ? g->dim[g->rank - 1] : 1;
    acui_index_make(&p.index, g->rank, g->dim);
    for (int d = 0; d < g->rank; d++) {
        p.at[0].stride[d] = g->out[d];
        p.at[1].stride[d] = g->in[d];
    }
    return launch(f, "fft", acui_blocks(p.lines, p.each), to, x, acu_arg_struct(&p, sizeof p));
}

/* ---- several --------------------------------------------------------------------------------- */

static acu_op *transform(const plan *f, const grid *g, int64_t n, acui_fft_side in,
                         acui_fft_side out, acu_op *x, acu_op *to);

/* The factor of n next to its root that fits. */
static int64_t split_of(const plan *f, int64_t n)
{
    int64_t best = 1;
    for (int64_t i = 2; i <= most_of(f) && i * i <= n; i++)
        if (n % i == 0)
            best = i;
    return best;
}

/* A launch that reads x, or, without x, what is in *to, which it gives back then. */
static acu_op *before(const plan *f, acu_op *launched, bool in_place, acu_op **to)
{
    acu_op *parts[3];
    if (!in_place)
        return first(f, launched);
    acu_op_unzip(launched, parts, 3, f->p->site);
    acu_op_release(parts[2]);
    *to = parts[1];
    return parts[0];
}

/* n = a b: transforms of the columns of a matrix [a, b], turned, and of its rows. */
static acu_op *by_matrix(const plan *f, const grid *g, int64_t n, acui_fft_side in,
                         acui_fft_side out, acu_op *x, acu_op *to)
{
    int64_t a = split_of(f, n), b = n / a, dense = 2 * n;
    grid columns = *g, rows = *g;
    for (int d = g->rank - 1; d >= 0; dense *= g->dim[d], d--)
        columns.out[d] = rows.in[d] = dense;
    columns = with(columns, b, 2, in.step);
    rows = with(rows, a, out.step, 2 * b);
    acui_fft_side from = in, held = {.step = 2 * b}, row = {.step = 2}, end = out;
    from.step *= b;
    end.step *= a;
    acu_op *half = complex_numbers(f, lines_of(g) * n);
    half = before(f, pass(f, &columns, a, from, held, n, x ? x : to, half), !x, &to);
    return transform(f, &rows, b, row, end, half, to);
}

static acu_op *map(const plan *f, acui_fft_map *m, const grid *g, const int64_t *strides,
                   int64_t elements, acu_op *x, acu_op *to)
{
    if (g) {
        acui_index_make(&m->index, g->rank, g->dim);
        for (int d = 0; d < g->rank; d++)
            m->at[0].stride[d] = strides[d];
    }
    return launch(f, "fft_map", acui_blocks(elements, ACUI_BLOCK), to, x,
                  acu_arg_struct(m, sizeof *m));
}

/* Dense lines of n, to a result of its own or where they are. */
static acu_op *dense(const plan *f, acu_op *x, int64_t lines, int64_t n, bool inverse)
{
    grid g = {.rank = 1, .dim = {lines}, .out = {2 * n}, .in = {2 * n}};
    acui_fft_side side = {.step = 2, .swapped = inverse};
    return transform(f, &g, n, side, side, NULL, x);
}

/* Through dense lines: of n, or of a power of two for Bluestein's convolution with a chirp. */
static acu_op *by_dense(const plan *f, const grid *g, int64_t n, acui_fft_side in,
                        acui_fft_side out, acu_op *x, acu_op *to)
{
    int64_t lines = lines_of(g), m = n;
    bool chirp = !is_smooth(n);
    for (m = chirp ? 1 : n; chirp && m < 2 * n - 1; m *= 2)
        ;
    acui_fft_map one = {.lines = lines, .n = n, .m = m, .chirp = chirp, .side = in};
    acu_op *line = complex_numbers(f, lines * m);
    line = map(f, &one, g, g->in, lines * m, x ? x : to, line);
    line = dense(f, before(f, line, !x, &to), lines, m, false);
    if (chirp) {
        one.kind = ACUI_FFT_CHIRP;
        acu_op *turns = map(f, &one, NULL, NULL, m, NULL, complex_numbers(f, m));
        turns = dense(f, first(f, turns), 1, m, false);
        one.kind = ACUI_FFT_TIMES;
        /* it reads what it writes, too */
        const acu_arg args[] = {acu_arg_op(line, ACU_UPDATE), acu_arg_op(turns, ACU_READ),
                                acu_arg_struct(&one, sizeof one)};
        line = acui_run(f->p, f->t->name, "acuda.fft",
                        f->t->dtype == ACU_F64 ? "fft_map_d" : "fft_map_f",
                        acui_blocks(lines * m, ACUI_BLOCK), args, 3);
        line = dense(f, line, lines, m, true);
    }
    one.kind = ACUI_FFT_GATHER;
    one.side = out;
    return first(f, map(f, &one, g, g->out, lines * n, line, to));
}

/* From x to `to`; without x, what is in `to` is transformed. */
static acu_op *transform(const plan *f, const grid *g, int64_t n, acui_fft_side in,
                         acui_fft_side out, acu_op *x, acu_op *to)
{
    bool smooth = is_smooth(n);
    if (smooth && n <= most_of(f))
        return first(f, pass(f, g, n, in, out, 0, x, to));
    if (smooth && in.form != ACUI_FFT_HALF && out.form == ACUI_FFT_COMPLEX && split_of(f, n) > 1)
        return by_matrix(f, g, n, in, out, x, to);
    return by_dense(f, g, n, in, out, x, to);
}

/* ---- dimensions ------------------------------------------------------------------------------ */

static int64_t numbers_of(int64_t n, int form)
{
    return form == ACUI_FFT_REAL ? n : form == ACUI_FFT_HALF ? 2 * (n / 2 + 1) : 2 * n;
}

static acu_op *last_dimension(const plan *f, acu_op *x, acu_op *to)
{
    const acui_fft_own *t = f->t;
    int64_t n = t->n.dim[t->n.rank - 1], lines = 1;
    for (int d = 0; d + 1 < t->n.rank; d++)
        lines *= t->n.dim[d];
    grid g = {.rank = 1, .dim = {lines}, .out = {numbers_of(n, t->to)},
              .in = {numbers_of(n, t->from)}};
    acui_fft_side in = {t->from == ACUI_FFT_REAL ? 1 : 2, t->from, t->inverse};
    acui_fft_side out = {t->to == ACUI_FFT_REAL ? 1 : 2, t->to, t->inverse};
    return transform(f, &g, n, in, out, x, to);
}

/* Dimension d, which is not the last one, of complex numbers, `last` of them along the last one. */
static acu_op *dimension(const plan *f, int d, int64_t last, acu_op *x, acu_op *to)
{
    const acu_shape *n = &f->t->n;
    int64_t before = 1, behind = last;
    for (int i = 0; i < d; i++)
        before *= n->dim[i];
    for (int i = d + 1; i + 1 < n->rank; i++)
        behind *= n->dim[i];
    grid g = {.rank = 2, .dim = {before, behind}, .out = {2 * n->dim[d] * behind, 2},
              .in = {2 * n->dim[d] * behind, 2}};
    acui_fft_side side = {2 * behind, ACUI_FFT_COMPLEX, f->t->inverse};
    return transform(f, &g, n->dim[d], side, side, x, to);
}

acu_op *acui_fft_by_own(acu_planning *p, const acui_fft_own *t, acu_op *x, acu_op *out)
{
    plan f = {p, t};
    int end = t->n.rank - 1, begin = t->n.rank - t->rank;
    int64_t n = t->n.dim[end];
    if (t->from != ACUI_FFT_HALF) {
        out = last_dimension(&f, x, out);
        int64_t last = t->to == ACUI_FFT_HALF ? n / 2 + 1 : n;
        for (int d = end - 1; d >= begin; d--)
            out = dimension(&f, d, last, NULL, out);
        return out;
    }
    for (int d = begin; d < end; d++) { /* of the half that there is: in memory of its own */
        int64_t numbers = n / 2 + 1;
        for (int i = 0; d == begin && i < end; i++)
            numbers *= t->n.dim[i];
        x = d == begin ? dimension(&f, d, n / 2 + 1, x, complex_numbers(&f, numbers))
                       : dimension(&f, d, n / 2 + 1, NULL, x);
    }
    return last_dimension(&f, x, out);
}
