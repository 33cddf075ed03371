/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fourier transforms by acuda's own kernels: one dimension after the other, and each by
 *
 *   one launch     if its length fits into a block and has only small factors: powers of two and of
 *                  ten in registers (kernels/fft_held.cuh), others in shared memory;
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

/* How lines are held in registers. */
typedef struct holding {
    int each, first; /* elements of a thread, and of the first pass */
    int most;        /* threads of a block */
} holding;

/* At most so many elements apart: then a block's neighbouring lines fill 32 bytes. */
enum { MOST_APART = 2048 };

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
static acu_op *launch(const plan *f, const char *family, const char *kernel, acu_config config,
                      acu_op *out, acu_op *x, acu_arg params)
{
    char name[16];
    snprintf(name, sizeof name, "%s_%c", kernel, f->t->dtype == ACU_F64 ? 'd' : 'f');
    const acu_arg args[] = {acu_arg_op(out, x ? ACU_WRITE : ACU_UPDATE),
                            x ? acu_arg_op(x, ACU_READ) : acu_u64(0), params};
    return acui_launch_as(f->p, f->t->name, family, name, config, args, 3);
}

static acu_op *first(const plan *f, acu_op *launched)
{
    return acu_op_nth(launched, 0, f->p->site);
}

/* ---- one launch, in shared memory ------------------------------------------------------------ */

/* Lines of a block: as many as fit, but not so many that few blocks are left. */
static int lines_each(const plan *f, int64_t lines, int64_t n)
{
    int64_t fit = most_of(f) / n, wanted = lines / 256;
    wanted = wanted < 4 ? 4 : wanted;
    fit = fit < ACUI_FFT_LINES ? fit : ACUI_FFT_LINES;
    return (int)(fit < wanted ? fit : wanted);
}

static acu_op *shared_pass(const plan *f, acui_fft_pass *p, acu_op *x, acu_op *to)
{
    p->each = lines_each(f, p->lines, p->n);
    p->radices = factors(p->n, p->radix);
    acu_config config = ACU_GRID_BLOCK(acui_blocks(p->lines, p->each), 1, 1, ACUI_BLOCK, 1, 1);
    return launch(f, "acuda.fft", "fft", config, to, x, acu_arg_struct(p, sizeof *p));
}

/* ---- one launch, in registers ---------------------------------------------------------------- */

static size_t bytes_of(const plan *f)
{
    return f->t->dtype == ACU_F64 ? 16 : 8;
}

/* The distance of so many lines in shared memory, in elements. place() of the kernel says how many
 * a line takes; elements of neighbouring lines are in different banks. */
static int pitch_of(const plan *f, const holding *h, int64_t n, int64_t lines)
{
    int64_t unit = 128 / (int64_t)bytes_of(f), size = h->each == 16 ? n : n + n / 16;
    if (lines == 1)
        return (int)size;
    for (int64_t l = 1; l < lines && unit > 1; l *= 2)
        unit /= 2;
    int64_t parts = acui_parts(size, unit);
    return (int)((parts + (parts % 2 == 0)) * unit);
}

static size_t shared_of(const plan *f, const holding *h, int64_t n, int64_t lines)
{
    return (size_t)(pitch_of(f, h, n, lines) * lines) * bytes_of(f);
}

/* n is `first` times powers of `each`; the last pass needs a pass before it. The same on every
 * device, for the same bits: all have this much shared memory. */
static bool is_held(const plan *f, int64_t n, holding *h)
{
    bool wide = f->t->dtype == ACU_F64;
    for (int each = 16; each >= 10; each -= 6) {
        int64_t first = n;
        while (first > each && first % each == 0)
            first /= each;
        *h = (holding){each, (int)first, each == 16 ? wide ? ACUI_FFT_16_D : ACUI_FFT_16_F
                                                    : wide ? ACUI_FFT_10_D : ACUI_FFT_10_F};
        if (first > 1 && first <= each && each % first == 0 && n > each && n / each <= h->most &&
            shared_of(f, h, n, 1) <= 64 << 10)
            return true;
    }
    return false;
}

static bool is_apart(acui_fft_side side)
{
    return side.step > 2;
}

/* Lines of a block: of neighbours in memory as many as fit, else fewer, for more blocks; and not so
 * many that few blocks are left. */
static int lines_held(const plan *f, const acui_fft_pass *p, const holding *h)
{
    size_t shared = acu_device_info_of(f->p->device)->max_shared_optin;
    bool apart = is_apart(p->in) || is_apart(p->out);
    int64_t threads = p->n / h->each, least = apart ? 32 / (int64_t)bytes_of(f) : 1;
    int64_t lines = ACUI_BLOCK / threads, wanted = p->lines / 256;
    wanted = wanted < least ? least : wanted;
    lines = lines < least ? least : lines;
    lines = lines < wanted ? lines : wanted;
    lines = lines < h->most / threads ? lines : h->most / threads;
    while (lines > 1 && shared_of(f, h, p->n, lines) > shared)
        lines--;
    return (int)lines;
}

static acu_op *held_pass(const plan *f, const holding *h, acui_fft_pass *p, acu_op *x, acu_op *to)
{
    p->each = lines_held(f, p, h);
    p->radix[0] = h->first;
    p->pitch = pitch_of(f, h, p->n, p->each);
    unsigned threads = (unsigned)acui_parts((int64_t)p->each * p->n / h->each, 32) * 32;
    acu_config config = ACU_GRID_BLOCK(acui_blocks(p->lines, p->each), 1, 1, threads, 1, 1);
    config.shared = shared_of(f, h, p->n, p->each);
    return launch(f, h->each == 16 ? "acuda.fft_16" : "acuda.fft_10",
                  h->each == 16 ? "fft_16" : "fft_10", config, to, x, acu_arg_struct(p, sizeof *p));
}

/* ---- one launch ------------------------------------------------------------------------------ */

/* Lines that are neighbours in memory get neighbouring numbers; dimension d becomes the result. */
static int arrange(grid *g, acui_fft_side in, acui_fft_side out, int d)
{
    int last = g->rank - 1, near = last;
    const int64_t *stride = is_apart(in) ? g->in : g->out;
    for (int i = last - 1; i >= 0 && (is_apart(in) || is_apart(out)); i--)
        if (g->dim[i] > 1 && (stride[i] < stride[near] || g->dim[near] == 1))
            near = i;
    grid old = *g;
    for (int i = near; i < last; i++) {
        g->dim[i] = old.dim[i + 1];
        g->out[i] = old.out[i + 1];
        g->in[i] = old.in[i + 1];
    }
    g->dim[last] = old.dim[near];
    g->out[last] = old.out[near];
    g->in[last] = old.in[near];
    return d == near ? last : d > near ? d - 1 : d;
}

/* The last dimension of the lines is that of c, for `whole` and `half` (params.h). */
static acu_op *pass(const plan *f, const grid *lines, int64_t n, acui_fft_side in,
                    acui_fft_side out, int64_t whole, int64_t half, acu_op *x, acu_op *to)
{
    grid g = *lines;
    acui_fft_pass p = {.lines = lines_of(&g), .n = (int)n, .in = in, .out = out, .whole = whole,
                       .half = (int)half, .inner = 1};
    int columns = arrange(&g, in, out, g.rank - 1);
    p.columns = g.dim[columns];
    for (int d = columns + 1; d < g.rank; d++)
        p.inner *= g.dim[d];
    acui_index_make(&p.index, g.rank, g.dim);
    for (int d = 0; d < g.rank; d++) {
        p.at[0].stride[d] = g.out[d];
        p.at[1].stride[d] = g.in[d];
    }
    holding h;
    return is_held(f, n, &h) ? held_pass(f, &h, &p, x, to) : shared_pass(f, &p, x, to);
}

/* ---- several --------------------------------------------------------------------------------- */

static acu_op *transform(const plan *f, const grid *g, int64_t n, acui_fft_side in,
                         acui_fft_side out, acu_op *x, acu_op *to);

static bool fits(const plan *f, int64_t n)
{
    holding h;
    return n <= most_of(f) || is_held(f, n, &h);
}

static bool is_good_part(const plan *f, int64_t n)
{
    holding h;
    return n <= MOST_APART && is_held(f, n, &h);
}

/* The factor of n to begin with: next to its root if both parts are held in registers then; of a
 * power of two for three passes the first one's; else next to its root if it fits. */
static int64_t split_of(const plan *f, int64_t n)
{
    int64_t best = 1, both = 1, third = 1;
    for (int64_t i = 2; i <= most_of(f) && i * i <= n; i++)
        if (n % i == 0) {
            best = i;
            if (is_good_part(f, i)) {
                both = is_good_part(f, n / i) ? i : both;
                third = (n & (n - 1)) == 0 && i * i <= n / i ? i : third;
            }
        }
    return both > 1 ? both : third > 1 ? third : best;
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

/* The dimension of lines that are neighbours, where elements of a line are apart; or -1. */
static int near_of(const grid *g, acui_fft_side in)
{
    for (int d = g->rank - 1; d >= 0 && is_apart(in); d--)
        if (g->dim[d] > 1 && g->in[d] == 2)
            return d;
    return -1;
}

/* Whether it can be done so: a half on either side is for lines in registers. */
static bool is_for_matrix(const plan *f, int64_t n, acui_fft_side in, acui_fft_side out)
{
    holding h;
    int64_t a = split_of(f, n);
    if (in.form == ACUI_FFT_HALF && (!is_held(f, a, &h) || n > 1 << 30))
        return false;
    if (out.form == ACUI_FFT_HALF && (!is_good_part(f, n / a) || n > 1 << 30))
        return false;
    return a > 1 && out.form != ACUI_FFT_REAL;
}

/* n = a b: transforms of the columns of a matrix [a, b], turned, and of its rows. In between it is
 * dense, but for lines that are neighbours, which stay so. */
static acu_op *by_matrix(const plan *f, const grid *g, int64_t n, acui_fft_side in,
                         acui_fft_side out, acu_op *x, acu_op *to)
{
    int near = near_of(g, in);
    int64_t a = split_of(f, n), b = n / a, unit = near < 0 ? 2 : 2 * g->dim[near];
    int64_t dense = unit * n;
    grid columns = *g, rows = *g;
    for (int d = g->rank - 1; d >= 0; d--) {
        columns.out[d] = rows.in[d] = d == near ? 2 : dense;
        dense *= d == near ? 1 : g->dim[d];
    }
    columns = with(columns, b, unit, in.step);
    rows = with(rows, a, out.step, unit * b);
    acui_fft_side from = in, held = {.step = unit * b}, row = {.step = unit}, end = out;
    from.step *= b;
    end.step *= a;
    acu_op *half = complex_numbers(f, lines_of(g) * n);
    half = before(f, pass(f, &columns, a, from, held, n, in.form == ACUI_FFT_HALF ? b : 0,
                          x ? x : to, half), !x, &to);
    if (out.form == ACUI_FFT_HALF)
        return first(f, pass(f, &rows, b, row, end, 0, a, half, to));
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
    acu_config config = ACU_GRID_BLOCK(acui_blocks(elements, ACUI_BLOCK), 1, 1, ACUI_BLOCK, 1, 1);
    return launch(f, "acuda.fft", "fft_map", config, to, x, acu_arg_struct(m, sizeof *m));
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
    bool chirp = !is_smooth(n);
    int64_t lines = lines_of(g), m = chirp ? 1 : n;
    while (chirp && m < 2 * n - 1)
        m *= 2;
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
    bool smooth = is_smooth(n), apart = is_apart(in) || is_apart(out);
    if (smooth && fits(f, n) && (!apart || n <= MOST_APART))
        return first(f, pass(f, g, n, in, out, 0, 0, x, to));
    if (smooth && is_for_matrix(f, n, in, out))
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
