/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Scale: a training step of a perceptron of two layers on 1, 2 and 4 devices, as in examples/mlp
 * but large enough to fill a GPU. Each device has a replica and a batch, of the same size however
 * many devices there are; copies take all gradients to all replicas. Ideally a step takes as long
 * on four devices as on one.
 *
 * All devices get the same batches, so the mean of their gradients is what one device alone
 * computes. The replicas must agree bit by bit, and must be close to one device's result; in quick
 * runs, where the model is small, that must be close to the host's.
 */
#include "harness/harness.h"
#include "scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char scale_ptx[];

enum { MOST = 4, TILE = 64, BATCHES = 2, BLOCKS = 10 };
static const float RATE = 0.05f;

/* Extents: samples of a batch, inputs, hidden units, outputs. */
typedef struct extents {
    unsigned batch, in, hidden, out, params;
} extents;

typedef struct replica {
    acu_device *device;
    acu_kernel *product, *error, *add, *update;
    acu_tensor *w, *v, *sum, *inbox, *start;      /* f32 [params]; `start`: the weights at first */
    acu_tensor *w1, *w2;                          /* parts of w */
    acu_tensor *g[2], *g1[2], *g2[2];             /* gradients, written in turn, and their parts */
    acu_tensor *x[BATCHES], *want[BATCHES];
    acu_tensor *hidden, *p, *e, *hidden_error, *loss;
    acu_future *step[2];
} replica;

typedef struct subject {
    bench *b;
    extents n;
    replica replicas[MOST];
    int devices, steps;
    float *host, *first; /* [params]: scratch; the result of one device */
} subject;

/* ---- data that host and device agree on ---- */

static float spread(uint32_t seed, uint32_t i, float size)
{
    uint32_t h = (i + 1) * 0x9e3779b9u ^ (seed + 1) * 0x85ebca6bu;
    h = (h ^ h >> 16) * 0x7feb352du;
    h ^= h >> 15;
    return size * ((float)(h & 0xffff) / 32768.0f - 1.0f);
}

static float *make_values(uint32_t seed, size_t count, float size)
{
    float *values = malloc(count * sizeof *values);
    if (!values)
        bench_die("no memory");
    for (size_t i = 0; i < count; i++)
        values[i] = spread(seed, (uint32_t)i, size);
    return values;
}

static float *make_params(const extents *n)
{
    float *w = make_values(1, n->params, sqrtf(3.0f / (float)n->in));
    for (size_t i = (size_t)n->in * n->hidden; i < n->params; i++)
        w[i] *= sqrtf((float)n->in / (float)n->hidden);
    return w;
}

enum { SEED_X = 10, SEED_WANT = 20 };

/* ---- one replica ---- */

static acu_tensor *tensor_of(const replica *r, size_t count, float *values)
{
    acu_tensor *tensor;
    if (!values) {
        MUST(acu_sync(r->device, acu_zeros(ACU_F32, ACU_SHAPE((int64_t)count)), &tensor));
        return tensor;
    }
    MUST(acu_tensor_alloc(r->device, ACU_F32, ACU_SHAPE((int64_t)count), &tensor));
    MUST(acu_write_sync(tensor, values, count * sizeof *values));
    free(values);
    return tensor;
}

static acu_tensor *part_of(acu_tensor *tensor, size_t start, size_t end)
{
    acu_tensor *part;
    MUST(acu_tensor_slice(tensor, (int64_t[]){(int64_t)start}, (int64_t[]){(int64_t)end}, &part));
    return part;
}

static void open_replica(const subject *s, replica *r, acu_device *device)
{
    const extents *n = &s->n;
    size_t cut = (size_t)n->in * n->hidden, rows = n->batch;
    bench b = {.device = device};
    r->device = device;
    r->product = bench_kernel(&b, scale_ptx, "product");
    r->error = bench_kernel(&b, scale_ptx, "error");
    r->add = bench_kernel(&b, scale_ptx, "add");
    r->update = bench_kernel(&b, scale_ptx, "update");
    r->start = tensor_of(r, n->params, make_params(n));
    acu_tensor **vectors[] = {&r->w, &r->v, &r->sum, &r->inbox, &r->g[0], &r->g[1]};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = tensor_of(r, n->params, NULL);
    r->w1 = part_of(r->w, 0, cut);
    r->w2 = part_of(r->w, cut, n->params);
    for (int i = 0; i < 2; i++) {
        r->g1[i] = part_of(r->g[i], 0, cut);
        r->g2[i] = part_of(r->g[i], cut, n->params);
    }
    for (uint32_t i = 0; i < BATCHES; i++) {
        r->x[i] = tensor_of(r, rows * n->in, make_values(SEED_X + i, rows * n->in, 1));
        r->want[i] = tensor_of(r, rows * n->out, make_values(SEED_WANT + i, rows * n->out, 1));
    }
    r->hidden = tensor_of(r, rows * n->hidden, NULL);
    r->hidden_error = tensor_of(r, rows * n->hidden, NULL);
    r->p = tensor_of(r, rows * n->out, NULL);
    r->e = tensor_of(r, rows * n->out, NULL);
    r->loss = tensor_of(r, 1, NULL);
}

static void close_replica(replica *r)
{
    acu_tensor *tensors[] = {r->w, r->v, r->sum, r->inbox, r->start, r->w1, r->w2, r->g[0], r->g[1],
                             r->g1[0], r->g1[1], r->g2[0], r->g2[1], r->x[0], r->x[1], r->want[0],
                             r->want[1], r->hidden, r->hidden_error, r->p, r->e, r->loss};
    acu_kernel *kernels[] = {r->product, r->error, r->add, r->update};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        acu_tensor_release(tensors[i]);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        acu_kernel_release(kernels[i]);
}

/* ---- the step ---- */

enum { PLAIN, POSITIVE, MASKED };

static acu_op *multiply(const replica *r, acu_tensor *c, acu_tensor *a, acu_tensor *b,
                        acu_tensor *mask, unsigned m, scale_shape shape, unsigned mode)
{
    return acu_launch(r->product, ACU_GRID_BLOCK(shape.n / TILE, m / TILE, 1, 256, 1, 1),
                      acu_out(c), acu_in(a), acu_in(b), acu_in(mask),
                      acu_arg_struct(&shape, sizeof shape), acu_u32(mode));
}

static acu_config vector_config(unsigned count)
{
    unsigned blocks = (count + 1023) / 1024;
    return ACU_GRID_BLOCK(blocks < 1056 ? blocks : 1056, 1, 1, 256, 1, 1);
}

/* Mean of all gradients of the step before, and the update by it. */
static acu_op *apply_gradients(subject *s, replica *r, int count, int turn)
{
    acu_op *ops[2 * MOST + 1];
    acu_config config = vector_config(s->n.params);
    size_t at = 0;
    ops[at++] = acu_copy(r->sum, s->replicas[0].g[turn]);
    for (int i = 1; i < count; i++) {
        ops[at++] = acu_copy(r->inbox, s->replicas[i].g[turn]);
        ops[at++] = acu_launch(r->add, config, acu_inout(r->sum), acu_in(r->inbox),
                               acu_u32(s->n.params));
    }
    ops[at++] = acu_launch(r->update, config, acu_inout(r->w), acu_inout(r->v), acu_in(r->sum),
                           acu_u32(s->n.params), acu_f32(1.0f / (float)count), acu_f32(RATE));
    return acu_op_zip(ops, at, ACU_SITE);
}

static acu_op *learn_batch(const subject *s, replica *r, int turn, int batch)
{
    const extents *n = &s->n;
    unsigned count = n->batch * n->out;
    acu_tensor *x = r->x[batch], *want = r->want[batch];
    scale_shape hidden = {n->hidden, n->in, n->in, 1, n->hidden, 1};
    scale_shape out = {n->out, n->hidden, n->hidden, 1, n->out, 1};
    scale_shape to_w2 = {n->out, n->batch, 1, n->hidden, n->out, 1};
    scale_shape back = {n->hidden, n->out, n->out, 1, 1, n->out};
    scale_shape to_w1 = {n->hidden, n->batch, 1, n->in, n->hidden, 1};
    return acu_zip(
        multiply(r, r->hidden, x, r->w1, x, n->batch, hidden, POSITIVE),
        multiply(r, r->p, r->hidden, r->w2, x, n->batch, out, PLAIN),
        acu_launch(r->error, vector_config(count), acu_out(r->e), acu_in(r->p), acu_in(want),
                   acu_inout(r->loss), acu_u32(count), acu_f32(1.0f / (float)n->batch)),
        multiply(r, r->g2[turn], r->hidden, r->e, x, n->hidden, to_w2, PLAIN),
        multiply(r, r->hidden_error, r->e, r->w2, r->hidden, n->batch, back, MASKED),
        multiply(r, r->g1[turn], x, r->hidden_error, x, n->in, to_w1, PLAIN));
}

/* The step before the last is over: a program would fill its staging for the next batch now. */
static void await_turn(replica *r, int turn)
{
    if (r->step[turn])
        MUST(acu_future_wait(r->step[turn], ACU_FOREVER));
    acu_future_release(r->step[turn]);
    r->step[turn] = NULL;
}

static void reset_replica(replica *r)
{
    acu_op *clear = acu_zip(acu_copy(r->w, r->start), acu_fill(r->v, acu_f32(0)),
                            acu_fill(r->g[0], acu_f32(0)), acu_fill(r->g[1], acu_f32(0)),
                            acu_fill(r->loss, acu_f32(0)));
    MUST(acu_sync(r->device, clear, NULL));
}

/* Microseconds of a step, over `steps` of them on `count` devices. */
static double train(subject *s, int count)
{
    for (int i = 0; i < count; i++)
        reset_replica(&s->replicas[i]);
    double start = bench_now_us();
    for (int step = 0, turn = 0; step < s->steps; step++, turn = 1 - turn)
        for (int i = 0; i < count; i++) {
            replica *r = &s->replicas[i];
            await_turn(r, turn);
            acu_op *op = acu_zip(apply_gradients(s, r, count, 1 - turn),
                                 learn_batch(s, r, turn, step % BATCHES));
            MUST(acu_submit(r->device, op, NULL, &r->step[turn]));
        }
    for (int i = 0; i < count; i++) {
        await_turn(&s->replicas[i], 0);
        await_turn(&s->replicas[i], 1);
    }
    return (bench_now_us() - start) / s->steps;
}

/* ---- results ---- */

static void must_be_close(const subject *s, const float *is, const float *want, const char *whose)
{
    double far = 0, size = 0;
    for (unsigned i = 0; i < s->n.params; i++) {
        far = fmax(far, fabs((double)is[i] - (double)want[i]));
        size = fmax(size, fabs((double)want[i]));
    }
    if (!(far <= 1e-3 * size))
        bench_wrong("weights are off %s by %g, the largest being %g", whose, far, size);
}

static void check_replicas(subject *s, int count)
{
    size_t bytes = s->n.params * sizeof(float);
    float *replica_0 = malloc(bytes);
    if (!replica_0)
        bench_die("no memory");
    MUST(acu_read_sync(s->replicas[0].w, replica_0, bytes));
    for (int i = 1; i < count; i++) {
        MUST(acu_read_sync(s->replicas[i].w, s->host, bytes));
        if (memcmp(replica_0, s->host, bytes) != 0)
            bench_wrong("replicas 0 and %d differ", i);
    }
    if (!s->first) {
        s->first = replica_0;
        return;
    }
    must_be_close(s, replica_0, s->first, "one device's");
    free(replica_0);
}

/* c = a b on the host, strides as in scale_shape. */
static void host_multiply(float *c, const float *a, const float *b, unsigned m, scale_shape s)
{
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < s.n; j++) {
            double sum = 0;
            for (unsigned k = 0; k < s.k; k++)
                sum += (double)a[i * s.a_row + k * s.a_column] *
                       (double)b[k * s.b_row + j * s.b_column];
            c[i * s.n + j] = (float)sum;
        }
}

static void host_gradient(const extents *n, const float *w, const float *x, const float *want,
                          float *g)
{
    const float *w2 = w + n->in * n->hidden;
    float *hidden = calloc(n->batch * n->hidden, sizeof(float)), *back, *e;
    back = calloc(n->batch * n->hidden, sizeof(float));
    e = calloc(n->batch * n->out, sizeof(float));
    if (!hidden || !back || !e)
        bench_die("no memory");
    host_multiply(hidden, x, w, n->batch, (scale_shape){n->hidden, n->in, n->in, 1, n->hidden, 1});
    for (unsigned i = 0; i < n->batch * n->hidden; i++)
        hidden[i] = fmaxf(hidden[i], 0.0f);
    host_multiply(e, hidden, w2, n->batch,
                  (scale_shape){n->out, n->hidden, n->hidden, 1, n->out, 1});
    for (unsigned i = 0; i < n->batch * n->out; i++)
        e[i] = (e[i] - want[i]) / (float)n->batch;
    host_multiply(g + n->in * n->hidden, hidden, e, n->hidden,
                  (scale_shape){n->out, n->batch, 1, n->hidden, n->out, 1});
    host_multiply(back, e, w2, n->batch, (scale_shape){n->hidden, n->out, n->out, 1, 1, n->out});
    for (unsigned i = 0; i < n->batch * n->hidden; i++)
        back[i] = hidden[i] > 0.0f ? back[i] : 0.0f;
    host_multiply(g, x, back, n->in, (scale_shape){n->hidden, n->batch, 1, n->in, n->hidden, 1});
    free(hidden);
    free(back);
    free(e);
}

/* The same steps; the last one's gradient is not applied, as on the devices. */
static void check_by_host(const subject *s)
{
    const extents *n = &s->n;
    float *w = make_params(n), *g = calloc(n->params, sizeof *g), *v = calloc(n->params, sizeof *v);
    for (uint32_t step = 0; step + 1 < (uint32_t)s->steps; step++) {
        float *x = make_values(SEED_X + step % BATCHES, n->batch * n->in, 1);
        float *want = make_values(SEED_WANT + step % BATCHES, n->batch * n->out, 1);
        host_gradient(n, w, x, want, g);
        for (unsigned i = 0; i < n->params; i++) {
            v[i] = 0.9f * v[i] + g[i];
            w[i] -= RATE * v[i];
        }
        free(x);
        free(want);
    }
    must_be_close(s, s->first, w, "the host's");
    free(w);
    free(g);
    free(v);
}

/* ---- rows ---- */

static void measure(subject *s)
{
    static const int counts[] = {1, 2, 4};
    double us[3][BLOCKS], one = 0;
    int blocks = bench_count(s->b, BLOCKS, 2);
    for (int block = -1; block < blocks; block++) /* the first one warms up */
        for (int i = 0; i < 3 && counts[i] <= s->devices; i++) {
            us[i][block < 0 ? 0 : block] = train(s, counts[i]);
            check_replicas(s, counts[i]);
            MUST(acu_graph_cache_wait(s->b->device));
        }
    if (s->b->quick)
        check_by_host(s);
    bench_title(s->b, "training step, the same batch on each device");
    for (int i = 0; i < 3 && counts[i] <= s->devices; i++) {
        char what[64];
        double step = bench_percentile(us[i], blocks, 50);
        snprintf(what, sizeof what, "%d device%s, a step", counts[i], i ? "s" : "");
        bench_at_most(s->b, what, "us", step, NAN);
        one = i == 0 ? step : one;
        if (i > 0)
            bench_at_least(s->b, "  share of linear", "", one / step, 0.9);
    }
    if (s->devices < 4)
        printf("there are %d devices\n", s->devices);
}

static void open_all(subject *s)
{
    int count;
    acu_device *devices[MOST] = {s->b->device};
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    MUST(acu_device_count_load(&options, &count));
    s->devices = count >= 4 ? 4 : count >= 2 ? 2 : 1;
    for (int i = 1; i < s->devices; i++) {
        options.ordinal = i;
        MUST(acu_open(&options, &devices[i]));
    }
    for (int i = 0; i < s->devices; i++)
        for (int k = 0; k < s->devices; k++) {
            acu_status status = i == k ? ACU_OK : acu_device_open_peer(devices[i], devices[k]);
            if (status != ACU_ERR_NOT_SUPPORTED)
                MUST(status);
        }
    for (int i = 0; i < s->devices; i++)
        open_replica(s, &s->replicas[i], devices[i]);
}

int main(int argc, char **argv)
{
    bench b = bench_open("scale", argc, argv, NULL);
    subject s = {.b = &b, .n = {8192, 1024, 2048, 256, 0}, .steps = bench_count(&b, 20, 4)};
    if (b.quick)
        s.n = (extents){64, 128, 64, 64, 0};
    s.n.params = s.n.in * s.n.hidden + s.n.hidden * s.n.out;
    s.host = malloc(s.n.params * sizeof(float));
    open_all(&s);
    measure(&s);
    free(s.host);
    free(s.first);
    for (int i = 0; i < s.devices; i++)
        close_replica(&s.replicas[i]);
    for (int i = 1; i < s.devices; i++)
        MUST(acu_close(s.replicas[i].device));
    return bench_close(&b);
}
