/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Submit: chains of 1, 10 and 100 small kernels, built, submitted and waited for, against the same
 * kernels launched by hand on one stream and synchronized. Blocks of the two take turns; acuda is
 * idle while the other runs. Prints p50 and p99 of each and their ratio; JSON to the first argument.
 */
#include <acuda/acuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern const char submit_ptx[];

enum { N = 1024, BLOCKS = 20, MOST = 4000 };

typedef struct bench {
    acu_device *device;
    acu_kernel *axpy;
    acu_tensor *x, *y;
    CUstream stream;
    const acu_driver_table *cu;
} bench;

static void must(acu_status status)
{
    char text[1024];
    if (status == ACU_OK)
        return;
    acu_error_describe(acu_last_error(), text, sizeof text);
    fprintf(stderr, "%s\n", text);
    exit(2);
}

static void must_raw(unsigned result)
{
    if (result) {
        fprintf(stderr, "the driver answered %u\n", result);
        exit(2);
    }
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double by_acuda(const bench *b, int kernels)
{
    acu_op *chain[100];
    double start = now_us();
    for (int i = 0; i < kernels; i++)
        chain[i] = acu_launch(b->axpy, acu_for_num_elems(N), acu_inout(b->y), acu_in(b->x),
                              acu_f32((float)i), acu_u32(N));
    must(acu_sync(b->device, acu_op_zip(chain, (size_t)kernels, ACU_SITE), NULL));
    return now_us() - start;
}

static double by_hand(const bench *b, int kernels)
{
    CUdeviceptr y = acu_tensor_address(b->y), x = acu_tensor_address(b->x);
    unsigned n = N;
    double start = now_us();
    for (int i = 0; i < kernels; i++) {
        float a = (float)i;
        void *params[] = {&y, &x, &a, &n};
        must_raw(b->cu->LaunchKernel(acu_kernel_raw(b->axpy), N / 256, 1, 1, 256, 1, 1, 0,
                                     b->stream, params, NULL));
    }
    must_raw(b->cu->StreamSynchronize(b->stream));
    return now_us() - start;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(const bench *b, int kernels, FILE *json)
{
    static double ours[MOST], theirs[MOST];
    int each = kernels >= 100 ? 20 : 100, n = 0;
    for (int i = 0; i < 50; i++) {
        by_acuda(b, kernels);
        by_hand(b, kernels);
    }
    for (int block = 0; block < BLOCKS; block++, n += each) {
        for (int i = 0; i < each; i++)
            ours[n + i] = by_acuda(b, kernels);
        for (int i = 0; i < each; i++)
            theirs[n + i] = by_hand(b, kernels);
    }
    qsort(ours, (size_t)n, sizeof *ours, ascending);
    qsort(theirs, (size_t)n, sizeof *theirs, ascending);
    double p50[2] = {ours[n / 2], theirs[n / 2]}, p99[2] = {ours[n * 99 / 100], theirs[n * 99 / 100]};
    printf("%3d kernels  %8.2f %8.2f us   %8.2f %8.2f us   ratio %.3f %.3f\n", kernels, p50[0],
           p99[0], p50[1], p99[1], p50[0] / p50[1], p99[0] / p99[1]);
    if (json)
        fprintf(json, "%s  {\"kernels\": %d, \"acuda_us\": [%.3f, %.3f], \"by_hand_us\": [%.3f, %.3f]}",
                kernels == 1 ? "" : ",\n", kernels, p50[0], p99[0], p50[1], p99[1]);
}

int main(int argc, char **argv)
{
    bench b;
    acu_module *module;
    CUcontext before;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    must(acu_open(&options, &b.device));
    must(acu_module_load_ptx(b.device, NULL, submit_ptx, &module));
    must(acu_kernel_get(module, "axpy", &b.axpy));
    must(acu_sync(b.device, acu_ones(ACU_F32, ACU_SHAPE(N)), &b.x));
    must(acu_sync(b.device, acu_zeros(ACU_F32, ACU_SHAPE(N)), &b.y));
    b.cu = acu_driver();
    must_raw(b.cu->CtxGetCurrent(&before));
    must_raw(b.cu->CtxSetCurrent(acu_device_context(b.device)));
    must_raw(b.cu->StreamCreate(&b.stream, ACU_CU_STREAM_NON_BLOCKING));

    FILE *json = argc > 1 ? fopen(argv[1], "w") : NULL;
    printf("%s\n", acu_device_info_of(b.device)->name);
    printf("                acuda p50      p99       by hand p50      p99            p50   p99\n");
    if (json)
        fprintf(json, "{\"bench\": \"submit\", \"device\": \"%s\", \"p50_p99\": [\n",
                acu_device_info_of(b.device)->name);
    compare(&b, 1, json);
    compare(&b, 10, json);
    compare(&b, 100, json);
    if (json) {
        fprintf(json, "\n]}\n");
        fclose(json);
    }
    must_raw(b.cu->StreamDestroy(b.stream));
    must_raw(b.cu->CtxSetCurrent(before));
    acu_tensor_release(b.x);
    acu_tensor_release(b.y);
    acu_kernel_release(b.axpy);
    acu_module_release(module);
    must(acu_close(b.device));
    return 0;
}
