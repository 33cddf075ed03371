/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Computes a function of CUDA's on a device, for tools/math-accuracy: `math-accuracy float
 * 'sinf(a)'` reads arguments from stdin, as triples a, b, c of the type, and writes the results to
 * stdout.
 */
#include <acuda/acuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(acu_status status)
{
    char text[4096];
    if (status == ACU_OK)
        return;
    acu_error_describe(acu_last_error(), text, sizeof text);
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static acu_kernel *kernel_of(acu_device *device, const char *type, const char *expression)
{
    char source[1024];
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    snprintf(
        source, sizeof source,
        "extern \"C\" __global__ void k(%s *out, const %s *in, long long n)\n"
        "{ for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll)\n"
        "  { %s a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2]; (void)b, (void)c;\n"
        "    out[i] = %s; } }",
        type, type, type, expression);
    acu_module_source s = {.size = sizeof s, .cuda = source};
    acu_compile_options options = {.size = sizeof options, .compiler = ACU_COMPILER_CLANG};
    s.compile = &options;
    must(acu_module_load(device, &s, &module));
    must(acu_kernel_get(module, "k", &kernel));
    acu_module_release(module);
    return kernel;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t size = strcmp(argv[1], "float") == 0 ? 4 : 8, count = 0, room = 1 << 24;
    char *in = malloc(room);
    if (!in)
        return 1;
    count = fread(in, 3 * size, room / (3 * size), stdin);
    acu_open_options open = {.size = sizeof open, .allow_software = true};
    acu_device *device = NULL;
    acu_tensor *x = NULL, *y = NULL;
    must(acu_open(&open, &device));
    acu_dtype dtype = size == 4 ? ACU_F32 : ACU_F64;
    must(acu_tensor_alloc(device, dtype, ACU_SHAPE((int64_t)count * 3), &x));
    must(acu_write_sync(x, in, count * 3 * size));
    acu_kernel *kernel = kernel_of(device, argv[1], argv[2]);
    acu_op *op = acu_launch(kernel, ACU_GRID_BLOCK(64, 1, 1, 256, 1, 1),
                            acu_out(acu_empty(dtype, ACU_SHAPE((int64_t)count))), acu_in(x),
                            acu_i64((int64_t)count));
    must(acu_sync(device, acu_first(op), &y));
    must(acu_read_sync(y, in, count * size));
    fwrite(in, size, count, stdout);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_kernel_release(kernel);
    free(in);
    return acu_close(device) != ACU_OK;
}
