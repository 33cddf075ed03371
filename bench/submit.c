/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Submit: chains of small kernels with new arguments each time, against two twins: the same kernels
 * launched one by one on one stream, as most programs do, and one executable graph whose parameters
 * are set by hand before each launch, as an expert would.
 */
#include "bench.h"

extern const char submit_ptx[];

enum { N = 1024, MOST = 4000, CHAIN = 100, NAMES = 200, QUEUED = 200 };

typedef struct chain { /* an executable graph of kernels behind one another */
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[CHAIN];
    int count;
} chain;

static acu_device *device;
static const acu_driver_table *cu;
static acu_kernel *axpy, *names[NAMES];
static acu_tensor *x, *y;
static CUstream stream;
static float step; /* other arguments each time */

/* ---- the three ways ---- */

static acu_op *compose(acu_kernel *const *kernels, int count)
{
    acu_op *ops[CHAIN];
    step += 1.0f / 1024;
    for (int i = 0; i < count; i++)
        ops[i] = acu_launch(kernels ? kernels[i] : axpy, acu_for_num_elems(N), acu_inout(y),
                            acu_in(x), acu_f32(step + (float)i), acu_u32(N));
    return count == 1 ? ops[0] : acu_op_zip(ops, (size_t)count, ACU_SITE);
}

/* The same as one expression in another: each takes what the one before gives. */
static acu_op *compose_nested(int count)
{
    acu_op *op = acu_value(y);
    step += 1.0f / 1024;
    for (int i = 0; i < count; i++)
        op = acu_first(acu_launch(axpy, acu_for_num_elems(N), acu_inout(op), acu_in(x),
                                  acu_f32(step + (float)i), acu_u32(N)));
    return op;
}

static void launch(acu_kernel *kernel, float a)
{
    CUdeviceptr at_y = acu_tensor_address(y), at_x = acu_tensor_address(x);
    unsigned n = N;
    void *params[] = {&at_y, &at_x, &a, &n};
    must_raw(cu->LaunchKernel(acu_kernel_raw(kernel), N / 256, 1, 1, 256, 1, 1, 0, stream, params,
                              NULL));
}

static void launch_all(acu_kernel *const *kernels, int count)
{
    step += 1.0f / 1024;
    for (int i = 0; i < count; i++)
        launch(kernels ? kernels[i] : axpy, step + (float)i);
}

static acu_CUDA_KERNEL_NODE_PARAMS_v1 node_params(void **params)
{
    return (acu_CUDA_KERNEL_NODE_PARAMS_v1){.func = acu_kernel_raw(axpy), .gridDimX = N / 256,
                                            .gridDimY = 1, .gridDimZ = 1, .blockDimX = 256,
                                            .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
}

static chain make_chain(int count)
{
    chain c = {.count = count};
    CUdeviceptr at_y = acu_tensor_address(y), at_x = acu_tensor_address(x);
    unsigned n = N;
    float a = 0;
    void *params[] = {&at_y, &at_x, &a, &n};
    acu_CUDA_KERNEL_NODE_PARAMS_v1 p = node_params(params);
    must_raw(cu->GraphCreate(&c.graph, 0));
    for (int i = 0; i < count; i++)
        must_raw(cu->GraphAddKernelNode(&c.nodes[i], c.graph, i ? &c.nodes[i - 1] : NULL, i > 0, &p));
    must_raw(cu->GraphInstantiateWithFlags(&c.exec, c.graph, 0));
    must_raw(cu->GraphUpload(c.exec, stream));
    return c;
}

static void launch_chain(const chain *c)
{
    CUdeviceptr at_y = acu_tensor_address(y), at_x = acu_tensor_address(x);
    unsigned n = N;
    step += 1.0f / 1024;
    for (int i = 0; i < c->count; i++) {
        float a = step + (float)i;
        void *params[] = {&at_y, &at_x, &a, &n};
        acu_CUDA_KERNEL_NODE_PARAMS_v1 p = node_params(params);
        must_raw(cu->GraphExecKernelNodeSetParams(c->exec, c->nodes[i], &p));
    }
    must_raw(cu->GraphLaunch(c->exec, stream));
}

static void wait_raw(void)
{
    must_raw(cu->StreamSynchronize(stream));
}

/* ---- measuring: blocks of each way take turns ---- */

typedef enum way { ACUDA, NESTED, LAUNCHES, EXECS, WAYS } way;

static const chain *the_chain;

static void submit(way how, int count)
{
    if (how == ACUDA)
        must(acu_submit(device, compose(NULL, count), NULL, NULL));
    else if (how == NESTED)
        must(acu_submit(device, compose_nested(count), NULL, NULL));
    else if (how == LAUNCHES)
        launch_all(NULL, count);
    else
        launch_chain(the_chain);
}

static double sync_one(way how, int count)
{
    double start = now_us();
    if (how == ACUDA || how == NESTED) {
        must(acu_sync(device, how == ACUDA ? compose(NULL, count) : compose_nested(count), NULL));
    } else {
        submit(how, count);
        wait_raw();
    }
    return now_us() - start;
}

static void settle(way how)
{
    if (how == ACUDA || how == NESTED)
        must(acu_device_wait(device, ACU_FOREVER));
    else
        wait_raw();
}

static double queue_many(way how, int count, int many)
{
    double start = now_us();
    for (int i = 0; i < many; i++)
        submit(how, count);
    settle(how);
    return (now_us() - start) / many;
}

static double host_time(way how, int count)
{
    double start = now_us();
    submit(how, count);
    double took = now_us() - start;
    settle(how);
    return took / count;
}

typedef double (*measure)(way how, int count);

static double queued(way how, int count)
{
    return queue_many(how, count, QUEUED);
}

static void compare(const bench *b, measure one, int count, int each, int blocks,
                    spread results[WAYS])
{
    static double samples[WAYS][MOST];
    int n = 0;
    if (b->quick) {
        each = 1;
        blocks = 2;
    }
    for (int block = -1; block < blocks; block++) { /* the first one is for warming up */
        for (int how = 0; how < WAYS; how++)
            for (int i = 0; i < each; i++)
                samples[how][n + i] = one((way)how, count);
        if (block == -1)
            must(acu_graphs_wait(device));
        else
            n += each;
    }
    for (int how = 0; how < WAYS; how++)
        results[how] = spread_of(samples[how], n);
}

static void rows(bench *b, const char *what, int count, const spread *r, double goal, double expert)
{
    char text[64];
    snprintf(text, sizeof text, "%s %d, launches", what, count);
    bench_row(b, text, r[ACUDA], r[LAUNCHES], goal);
    snprintf(text, sizeof text, "%s %d, execs", what, count);
    bench_row(b, text, r[ACUDA], r[EXECS], expert);
    snprintf(text, sizeof text, "%s %d nested, launches", what, count);
    bench_row(b, text, r[NESTED], r[LAUNCHES], goal);
}

static void all_of(bench *b, int count, double wait_goal, double queue_goal)
{
    spread r[WAYS];
    chain c = make_chain(count);
    the_chain = &c;
    compare(b, sync_one, count, count >= 100 ? 20 : 100, 20, r);
    rows(b, "waited for", count, r, wait_goal, 1.15);
    compare(b, queued, count, 2, count >= 100 ? 5 : 10, r);
    rows(b, "200 queued", count, r, queue_goal, 1.15);
    compare(b, host_time, count, 50, 10, r);
    rows(b, "host, per kernel", count, r, count >= 10 ? 0.30 : 0, 0);
    must_raw(cu->GraphExecDestroy(c.exec));
    must_raw(cu->GraphDestroy(c.graph));
}

/* ---- forms that were never seen ---- */

/* The i-th choice of kernels: another one each time. */
static void choose(acu_kernel **kernels, int count, int i)
{
    for (int k = 0; k < count; k++)
        kernels[k] = names[count == 1 ? i % NAMES : (i * (k + 1) + k * k) % NAMES];
}

static void unseen(bench *b, int count)
{
    static double ours[NAMES], theirs[NAMES];
    int rounds = b->quick ? 3 : count >= 100 ? 60 : NAMES;
    acu_kernel *kernels[CHAIN];
    for (int i = 0; i < NAMES; i++)
        launch(names[i], 0); /* loaded now, if the driver puts that off to the first launch */
    wait_raw();
    for (int i = 0; i < rounds; i++) {
        choose(kernels, count, i);
        double start = now_us();
        must(acu_sync(device, compose(kernels, count), NULL));
        ours[i] = now_us() - start;
        start = now_us();
        launch_all(kernels, count);
        wait_raw();
        theirs[i] = now_us() - start;
    }
    char text[64];
    snprintf(text, sizeof text, "never seen before, %d kernels", count);
    bench_row(b, text, spread_of(ours, rounds), spread_of(theirs, rounds), 1.10);
}

static void load(void)
{
    acu_module *module;
    char name[32];
    must(acu_module_load_ptx(device, NULL, submit_ptx, &module));
    must(acu_kernel_get(module, "axpy", &axpy));
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "axpy%d%d", i / 10, i % 10);
        must(acu_kernel_get(module, name, &names[i]));
    }
    acu_module_release(module);
}

int main(int argc, char **argv)
{
    CUcontext before;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    must(acu_open(&options, &device));
    load();
    must(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(N)), &x));
    must(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(N)), &y));
    cu = acu_driver();
    must_raw(cu->CtxGetCurrent(&before));
    must_raw(cu->CtxSetCurrent(acu_device_context(device)));
    must_raw(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    bench b = bench_begin(argc, argv, "submit", device);
    bench_head("chains with new arguments each time", "us");
    all_of(&b, 1, 0.85, 0);
    all_of(&b, 10, 0.55, 0.38);
    all_of(&b, 100, 0.45, 0.32);
    bench_head("forms never seen before", "us");
    unseen(&b, 1);
    unseen(&b, 10);
    unseen(&b, 100);
    bench_end(&b);
    must_raw(cu->StreamDestroy(stream));
    must_raw(cu->CtxSetCurrent(before));
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_kernel_release(axpy);
    for (int i = 0; i < NAMES; i++)
        acu_kernel_release(names[i]);
    must(acu_close(device));
    return 0;
}
