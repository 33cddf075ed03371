/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CUDA C++ compiled at run time, and what is kept of it. */
#include "kernel/request.h"
#include "support/one_device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <spawn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#ifndef __has_feature
#define __has_feature(name) 0
#endif
/* Leaks and races inside NVRTC are not acuda's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static const char add_source[] =
    "extern \"C\" __global__ void add(int *x, int a) { x[threadIdx.x] += a; }\n";
static const char templates[] =
    "template <typename T> __global__ void scale(T *x, T a) { x[threadIdx.x] *= a; }\n"
    "namespace mine { template <int N> __global__ void set(int *x) { x[threadIdx.x] = N; } }\n";

enum { N = 32 };

static char folder[128];
static acu_compiler compiler; /* that the tests use which run with each */

static acu_compile_options options_of(acu_compiler which)
{
    return (acu_compile_options){.size = sizeof(acu_compile_options), .compiler = which};
}

static acu_compile_statistics counts(void)
{
    acu_compile_statistics c = {.size = sizeof c};
    acu_compile_stats(&c);
    return c;
}

static void use_disk(const char *where)
{
    acu_compile_settings settings = {.size = sizeof settings, .cache_dir = where,
                                     .no_disk = where == NULL};
    assert_works(acu_compile_configure(&settings));
}

static void skip_without(acu_compiler which)
{
    acu_compile_options options = options_of(which);
    acu_code *code = NULL;
    if (which == ACU_COMPILER_NVRTC && SANITIZED)
        skip();
    acu_status status = acu_compile(device, "", &options, &code);
    if (status == ACU_ERR_NOT_FOUND) {
        print_message("%s\n", acu_last_error()->message);
        skip();
    }
    assert_works(status);
    acu_code_release(code);
}

static int setup(void **state)
{
    compiler = *state ? ACU_COMPILER_NVRTC : ACU_COMPILER_CLANG;
    device_setup(state);
    use_disk(NULL);
    acu_compile_forget();
    snprintf(folder, sizeof folder, "/tmp/acuda-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static void remove_folder(void)
{
    char path[512];
    DIR *dir = opendir(folder);
    struct dirent *d;
    while (dir && (d = readdir(dir))) {
        snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

static int teardown(void **state)
{
    use_disk(NULL);
    remove_folder();
    return device_teardown(state);
}

static acu_module *load(const char *source, const acu_compile_options *options)
{
    acu_module_source from = {.size = sizeof from, .cuda = source, .compile = options};
    acu_module *module = NULL;
    assert_works(acu_module_load(device, &from, &module));
    return module;
}

/* Runs the kernel on 0, 1, 2 ... N-1; with a second argument if `with` is true. */
static void run(acu_module *module, const char *name, bool with, int a, int32_t got[N])
{
    acu_kernel *kernel = NULL;
    acu_tensor *x = NULL;
    int32_t from[N];
    for (int i = 0; i < N; i++)
        from[i] = i;
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(N), &x));
    assert_works(acu_write_sync(x, from, sizeof from));
    assert_works(acu_kernel_get(module, name, &kernel));
    acu_config config = ACU_GRID_BLOCK(1, 1, 1, N, 1, 1);
    assert_works(acu_sync(device, with ? acu_launch(kernel, config, acu_inout(x), acu_i32(a))
                                       : acu_launch(kernel, config, acu_inout(x)), NULL));
    assert_works(acu_read_sync(x, got, N * sizeof *got));
    acu_kernel_release(kernel);
    acu_tensor_release(x);
}

/* ---- compiling ---- */

static void a_source_runs(void **state)
{
    (void)state;
    int32_t got[N];
    skip_without(compiler);
    acu_compile_options options = options_of(compiler);
    acu_module *module = load(add_source, &options);
    run(module, "add", true, 5, got);
    for (int i = 0; i < N; i++)
        assert_int_equal(got[i], i + 5);
    assert_string_equal(acu_module_log(module), "");
    acu_module_release(module);
}

/* A module's name is in front of the compiler's messages, and is not read as source. */
static void a_byte_order_mark_is_no_source(void **state)
{
    (void)state;
    skip_without(compiler);
    char source[sizeof add_source + 3];
    int32_t got[N];
    snprintf(source, sizeof source, "\xef\xbb\xbf%s", add_source);
    acu_compile_options options = options_of(compiler);
    acu_module *module = load(source, &options);
    run(module, "add", true, 5, got);
    assert_int_equal(got[3], 8);
    acu_module_release(module);
}

static void names_are_not_source(void **state)
{
    (void)state;
    static const char *const names[] = {"a \"quoted\" one", "two\nlines", "C:\\new", "end\\"};
    skip_without(compiler);
    acu_compile_options options = options_of(compiler);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        acu_module_source from = {.size = sizeof from, .name = names[i], .cuda = add_source,
                                  .compile = &options};
        acu_module *module = NULL;
        assert_works(acu_module_load(device, &from, &module));
        assert_string_equal(acu_module_log(module), "");
        acu_module_release(module);
    }
}

static void names_of_templates(void **state)
{
    (void)state;
    int32_t got[N];
    static const char *const names[] = {"scale<int>", "mine::set<7>", "scale<float>"};
    skip_without(compiler);
    acu_compile_options options = options_of(compiler);
    options.expressions = names;
    options.expression_count = 3;
    acu_module *module = load(templates, &options);
    run(module, "scale<int>", true, 3, got);
    assert_int_equal(got[5], 15);
    run(module, "mine::set<7>", false, 0, got);
    assert_int_equal(got[5], 7);
    acu_kernel *none = NULL;
    assert_fails(acu_kernel_get(module, "scale<double>", &none), ACU_ERR_NOT_FOUND,
                 "scale<double>|expressions|mine::set<7>|scale<float>"); /* as the program wrote */
    acu_module_release(module);
    options.expressions = (const char *const[]){"scale<int>", "missing<int>"};
    options.expression_count = 2;
    acu_code *code = NULL;
    assert_fails(acu_compile(device, templates, &options, &code), ACU_ERR_COMPILE, "missing");
    /* Errors in the source make expressions fail too: the message has the former, not the
     * latter. */
    assert_fails(acu_compile(device, "__global__ void k(float *x) { x[0] = nowhere; }", &options,
                             &code), ACU_ERR_COMPILE, "nowhere");
    if (strstr(acu_last_error()->message, "clang"))
        assert_null(strstr(acu_last_error()->message, "the expressions"));
    options.expression_count = 1;
    assert_works(acu_compile(device, templates, &options, &code));
    assert_non_null(strstr(acu_code_ptx(code), acu_code_name(code, "scale<int>")));
    assert_null(acu_code_name(code, "missing<int>"));
    assert_null(strstr(acu_code_ptx(code), "acui_name"));
    acu_code_release(code);
}

static void options_count(void **state)
{
    (void)state;
    int32_t got[N];
    static const char source[] =
        "#include <shift.h>\n#include \"deep/more.h\"\n#include <acuda/device.cuh>\n"
        "extern \"C\" __global__ void f(acu_tile<int> x) { x.at(threadIdx.x) = SHIFT + MORE + GIVEN; }\n";
    const struct { /* as if they had more in a later version */
        acu_header header;
        size_t more;
    } headers[] = {{{"shift.h", "#define SHIFT 100\n"}, 1},
                   {{"deep/more.h", "#include \"shift.h\"\n#define MORE (SHIFT * 2)\n"}, 2}};
    skip_without(compiler);
    acu_compile_options options = options_of(compiler);
    options.headers = &headers[0].header;
    options.header_count = 2;
    options.header_stride = sizeof headers[0];
    options.defines = (const char *const[]){"GIVEN=7"};
    options.define_count = 1;
    options.fast_math = options.no_fma = options.line_info = true;
    options.max_registers = 32;
    options.cplusplus = 14;
    acu_module *module = load(source, &options);
    acu_kernel *kernel = NULL;
    acu_tensor *x = NULL;
    assert_works(acu_kernel_get(module, "f", &kernel));
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(N), &x));
    assert_works(acu_sync(device, acu_launch(kernel, ACU_BLOCK(N),
                                             acu_out(acu_partition(x, ACU_SHAPE(N)))), NULL));
    assert_works(acu_read_sync(x, got, sizeof got));
    assert_int_equal(got[N - 1], 307);
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    acu_module_release(module);
}

/* Even with fast_math, which would otherwise contract products and sums. */
static void nothing_is_contracted(void **state)
{
    (void)state;
    skip_without(compiler);
    acu_compile_options options = options_of(compiler);
    options.arch = 75;
    for (int fast = 0; fast < 2; fast++)
        for (int no = 0; no < 2; no++) {
            acu_code *code = NULL;
            options.fast_math = fast;
            options.no_fma = no;
            assert_works(acu_compile(NULL,
                                     "extern \"C\" __global__ void f(float *x, double *y)\n"
                                     "{ *x = x[1] * x[2] + x[3]; *y = y[1] * y[2] - 1; }\n",
                                     &options, &code));
            assert_int_equal(strstr(acu_code_ptx(code), "fma.rn") == NULL, no);
            acu_code_release(code);
        }
}

/* Accesses by index, and by number. */
static void accesses_to_tiles_are_checked_if_asked(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "#include <acuda/device.cuh>\n"
        "extern \"C\" __global__ void f(acu_tile<int> x, int i) { x.at(i) = 1; }\n",
        "#include <acuda/device.cuh>\n"
        "extern \"C\" __global__ void f(acu_tile<int> x, int i) { x.flat(i) = 1; }\n"};
    skip_without(compiler);
    acu_compile_options options = options_of(compiler);
    options.defines = (const char *const[]){"ACU_TILE_CHECK"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        for (options.define_count = 0; options.define_count < 2; options.define_count++) {
            acu_code *code = NULL;
            assert_works(acu_compile(device, sources[i], &options, &code));
            assert_int_equal(strstr(acu_code_ptx(code), "trap;") != NULL, options.define_count);
            acu_code_release(code);
        }
}

static void usual_mathematics(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void f(double *x) { double v = x[threadIdx.x] + 1.0;\n"
        "x[threadIdx.x] = sin(v) + pow(v, 1.5) + tanh(v) + cos(v) * exp(-v) + log(v) + erf(v);\n"
        "float w = (float)v; x[threadIdx.x] += sin(w) - sinf(w) + pow(w, 2.0f) - powf(w, 2.0f); }\n";
    skip_without(compiler);
    acu_compile_options options = options_of(compiler);
    acu_module *module = load(source, &options);
    acu_kernel *kernel = NULL;
    acu_tensor *x = NULL;
    double values[N];
    for (int i = 0; i < N; i++)
        values[i] = i * 0.25;
    assert_works(acu_kernel_get(module, "f", &kernel));
    assert_works(acu_tensor_alloc(device, ACU_F64, ACU_SHAPE(N), &x));
    assert_works(acu_write_sync(x, values, sizeof values));
    assert_works(
        acu_sync(device, acu_launch(kernel, ACU_GRID_BLOCK(1, 1, 1, N, 1, 1), acu_inout(x)), NULL));
    assert_works(acu_read_sync(x, values, sizeof values));
    for (int i = 0; i < N; i++) {
        double v = i * 0.25 + 1.0;
        double want = sin(v) + pow(v, 1.5) + tanh(v) + cos(v) * exp(-v) + log(v) + erf(v);
        assert_true(fabs(values[i] - want) < 1e-12 * (1 + fabs(want)));
    }
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    acu_module_release(module);
}

static void errors_are_told(void **state)
{
    (void)state;
    static const char bad[] = "extern \"C\" __global__ void f(int *x)\n{\n    x[0] = nowhere;\n}\n";
    static const char odd[] = "#warning look here\nextern \"C\" __global__ void f() {}\n";
    skip_without(compiler);
    char log[4096] = "";
    acu_compile_options options = options_of(compiler);
    options.log = log;
    options.log_bytes = sizeof log;
    acu_module_source source = {.size = sizeof source, .name = "bad.cu", .cuda = bad,
                                .compile = &options};
    acu_module *module = NULL;
    assert_fails(acu_module_load(device, &source, &module), ACU_ERR_COMPILE,
                 "bad.cu|nowhere|error");
    assert_non_null(strstr(log, "nowhere"));
    assert_non_null(strstr(log, "3")); /* the line */
    assert_non_null(strstr(acu_last_log(), "nowhere"));
    acu_future *future = NULL;
    assert_fails(acu_module_load_async(device, &source, &future), ACU_ERR_INVALID,
                 "acu_module_log");
    options.log = NULL;
    assert_works(acu_module_load_async(device, &source, &future));
    assert_works(acu_future_module(future, &module));
    assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_COMPILE, "bad.cu|nowhere");
    assert_fails(acu_module_wait(module, ACU_FOREVER), ACU_ERR_COMPILE, "bad.cu|nowhere");
    assert_non_null(strstr(acu_module_log(module), "nowhere"));
    assert_string_equal(acu_last_log(), acu_module_log(module));
    acu_future_release(future);
    acu_module_release(module);
    module = load(odd, &options);
    assert_non_null(strstr(acu_module_log(module), "look here"));
    acu_module_release(module);
}

/* Neither a file's name nor what a warning says is taken for the error. */
static void the_first_error_is_told(void **state)
{
    (void)state;
    static const char bad[] = "#warning error: this is none\n"
                              "extern \"C\" __global__ void f(int *x) { x[0] = nowhere; }\n";
    skip_without(compiler);
    acu_compile_options options = options_of(compiler);
    acu_module_source source = {.size = sizeof source, .name = "error.cu", .cuda = bad,
                                .compile = &options};
    acu_module *module = NULL;
    assert_fails(acu_module_load(device, &source, &module), ACU_ERR_COMPILE, "nowhere");
    assert_null(strstr(acu_last_error()->message, "none"));
}

/* The first line of a log that tells of an error; else the first. */
static void logs_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *log, *first;
    } logs[] = {
        {"a.cu:1:2: warning: an error: or so [-W#warnings]\na.cu:3:1: error: x\n",
         "a.cu:3:1: error: x\n"},
        {"error.h:1:2: note: y\n  error = 1;\nerror.h:2:1: fatal error: z",
         "error.h:2:1: fatal error: z"},
        {"a.cu(1): warning #1750-D: error: v\na.cu(2): catastrophic error: w",
         "a.cu(2): catastrophic error: w"},
        {"nvrtc: error: no such option", "nvrtc: error: no such option"},
        {"\nerror: at the beginning", "error: at the beginning"},
        {"a.cu(7): error #20: t", "a.cu(7): error #20: t"},
        {"something\nelse that has an error in it", "something\nelse that has an error in it"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        assert_string_equal(acui_log_first_error(logs[i].log), logs[i].first);
}

/* The kernel is launched before it is compiled; what the options point to is gone by then. */
static void as_a_future(void **state)
{
    (void)state;
    skip_without(compiler);
    char text[sizeof add_source], define[] = "UNUSED";
    const char *defines[] = {define};
    memcpy(text, add_source, sizeof text);
    acu_compile_options options = options_of(compiler);
    options.defines = defines;
    options.define_count = 1;
    acu_module_source source = {.size = sizeof source, .cuda = text, .compile = &options};
    acu_future *future = NULL;
    acu_module *module = NULL;
    assert_works(acu_module_load_async(device, &source, &future));
    memset(text, '?', sizeof text - 1);
    memset(define, '?', sizeof define - 1);
    assert_works(acu_future_module(future, &module));
    int32_t got[N];
    run(module, "add", true, 2, got);
    assert_int_equal(got[1], 3);
    acu_future_release(future);
    acu_module_release(module);
}

static void refusals(void **state)
{
    (void)state;
    acu_code *code = NULL;
    acu_compile_options options = options_of(ACU_COMPILER_CLANG), bad = options;
    assert_fails(acu_compile(device, NULL, &options, &code), ACU_ERR_INVALID, "source is NULL");
    assert_fails(acu_compile(device, "", &options, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_compile(NULL, "", &options, &code), ACU_ERR_INVALID, "arch");
    bad.cplusplus = 12;
    assert_fails(acu_compile(device, "", &bad, &code), ACU_ERR_INVALID, "C++12");
    bad = options;
    bad.arch = 7;
    assert_fails(acu_compile(device, "", &bad, &code), ACU_ERR_INVALID, "arch 7");
    bad = options;
    bad.header_count = 1;
    bad.headers = &(acu_header){"../x.h", ""};
    assert_fails(acu_compile(device, "", &bad, &code), ACU_ERR_INVALID, "../x.h");
    bad.header_stride = 8;
    assert_fails(acu_compile(device, "", &bad, &code), ACU_ERR_INVALID, "stride of 8");
    bad = options;
    bad.define_count = 1;
    assert_fails(acu_compile(device, "", &bad, &code), ACU_ERR_INVALID, "define 0 is NULL");
    bad.define_count = 2; /* "" would make the compiler take the next option for its value */
    bad.defines = (const char *const[]){"A", ""};
    assert_fails(acu_compile(device, "", &bad, &code), ACU_ERR_INVALID, "define 1 is empty");
    bad = options;
    bad.include_dir_count = 1;
    bad.include_dirs = (const char *const[]){""};
    assert_fails(acu_compile(device, "", &bad, &code), ACU_ERR_INVALID, "folder 0 is empty");
    acu_compile_settings none = {.size = sizeof none, .clang = "/nowhere/clang", .no_disk = true};
    assert_works(acu_compile_configure(&none));
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_NOT_FOUND, "/nowhere/clang");
    none.clang = "/bin/true";
    assert_works(acu_compile_configure(&none));
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_NOT_SUPPORTED, "no clang");
    use_disk(NULL);
    skip_without(ACU_COMPILER_CLANG);
    bad = options;
    bad.arch = 50;
    assert_fails(acu_compile(device, "", &bad, &code), ACU_ERR_NOT_SUPPORTED, "compute_50");
    bad.arch = 75;
    assert_works(acu_compile(NULL, add_source, &bad, &code));
    assert_non_null(strstr(acu_code_compiler(code), "clang"));
    acu_code_release(code);
}

/* What fails is said, not taken for a wrong compiler; and no files are left. */
static void without_descriptors(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    acu_compile_settings other = {.size = sizeof other, .clang = "/bin/true", .no_disk = true};
    char own[] = "/tmp/acuda_test_XXXXXX";
    acu_code *code = NULL;
    struct rlimit was, less;
    const char *set = getenv("TMPDIR");
    char *before = set ? strdup(set) : NULL;
    assert_non_null(mkdtemp(own));
    assert_int_equal(setenv("TMPDIR", own, 1), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    for (rlim_t more = 0; more < 2; more++) {
        assert_works(acu_compile_configure(&other));
        use_disk(NULL); /* clang is asked anew what it is */
        int unused = dup(0); /* the lowest */
        assert_true(unused >= 0);
        close(unused);
        less = was;
        less.rlim_cur = (rlim_t)unused + more;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
        acu_status status = acu_compile(device, add_source, &options, &code);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        assert_fails(status, ACU_ERR_IO, strerror(EMFILE));
        assert_int_equal(rmdir(own), 0); /* it is empty */
        assert_fails(acu_compile(device, add_source, &options, &code), ACU_ERR_IO,
                     "acuda_test_|TMPDIR");
        assert_int_equal(mkdir(own, 0700), 0);
    }
    assert_works(acu_compile(device, add_source, &options, &code));
    acu_code_release(code);
    assert_int_equal(before ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
    free(before);
    assert_int_equal(rmdir(own), 0);
}

/* ---- what is kept ---- */

static void compile(const char *source, const acu_compile_options *options)
{
    acu_code *code = NULL;
    assert_works(acu_compile(device, source, options, &code));
    assert_non_null(strstr(acu_code_ptx(code), ".entry"));
    acu_code_release(code);
}

static void memory_hits(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG), other = options;
    acu_compile_statistics before = counts();
    compile(add_source, &options);
    compile(add_source, &options);
    compile(add_source, &options);
    assert_int_equal(counts().compiled - before.compiled, 1);
    assert_int_equal(counts().from_memory - before.from_memory, 2);
    other.no_fma = true;
    compile(add_source, &other);
    assert_int_equal(counts().compiled - before.compiled, 2);
    acu_compile_forget();
    compile(add_source, &options);
    assert_int_equal(counts().compiled - before.compiled, 3);
    acu_compile_settings small = {.size = sizeof small, .no_disk = true, .memory_bytes = 1};
    assert_works(acu_compile_configure(&small));
    compile(add_source, &options);
    compile(add_source, &options);
    assert_int_equal(counts().compiled - before.compiled, 5);
}

static void *compile_same(void *unused)
{
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    (void)unused;
    compile(add_source, &options);
    return NULL;
}

static void at_once_is_once(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    acu_compile_statistics before = counts();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, compile_same, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    acu_compile_statistics after = counts();
    assert_int_equal(after.compiled - before.compiled, 1);
    assert_int_equal(after.joined + after.from_memory - before.joined - before.from_memory, 3);
}

/* The only file of the cache. */
static void find_file(char path[512])
{
    DIR *dir = opendir(folder);
    struct dirent *d;
    int found = 0;
    assert_non_null(dir);
    while ((d = readdir(dir)))
        if (d->d_name[0] != '.') {
            snprintf(path, 512, "%s/%s", folder, d->d_name);
            found++;
        }
    closedir(dir);
    assert_int_equal(found, 1);
}

static void disk_hits(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    use_disk(folder);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    options.expressions = (const char *const[]){"scale<int>"};
    options.expression_count = 1;
    acu_compile_statistics before = counts();
    acu_module_release(load(templates, &options));
    assert_int_equal(counts().written - before.written, 1);
    acu_compile_forget();
    int32_t got[N];
    acu_module *module = load(templates, &options);
    run(module, "scale<int>", true, 2, got);
    assert_int_equal(got[3], 6);
    acu_module_release(module);
    assert_int_equal(counts().compiled - before.compiled, 1);
    assert_int_equal(counts().from_disk - before.from_disk, 1);
}

/* A file that is cut at any length, or has one bit changed anywhere, is never used but made
 * anew. */
static void damaged_files_are_dropped(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    use_disk(folder);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    char path[512], data[1 << 16];
    compile(add_source, &options);
    find_file(path);
    FILE *f = fopen(path, "r");
    size_t bytes = fread(data, 1, sizeof data, f);
    fclose(f);
    assert_true(bytes > 400 && bytes < sizeof data);
    acu_compile_statistics before = counts();
    unsigned tried = 0;
    for (size_t at = 0; at < bytes; at += bytes / 5 + 1)
        for (int cut = 0; cut < 2; cut++, tried++) {
            acu_compile_forget();
            f = fopen(path, "w");
            if (!cut)
                data[at] ^= 1;
            fwrite(data, 1, cut ? at : bytes, f);
            if (!cut)
                data[at] ^= 1;
            fclose(f);
            compile(add_source, &options);
        }
    assert_int_equal(counts().dropped - before.dropped, tried);
    assert_int_equal(counts().compiled - before.compiled, tried);
    assert_int_equal(counts().from_disk, before.from_disk);
}

/* A file that another user may have put there is not run. */
static void files_of_others_are_not_read(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    if (geteuid() != 0)
        skip(); /* nobody else may give files away */
    use_disk(folder);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    char path[512];
    compile(add_source, &options);
    find_file(path);
    acu_compile_forget();
    assert_int_equal(chown(path, 54321, (gid_t)-1), 0);
    acu_compile_statistics before = counts();
    compile(add_source, &options);
    assert_int_equal(counts().from_disk, before.from_disk);
    assert_int_equal(counts().compiled - before.compiled, 1);
    acu_compile_forget();
    compile(add_source, &options); /* it was written anew */
    assert_int_equal(counts().from_disk - before.from_disk, 1);
}

/* An intact file of another request under this one's name is recognised by its content. */
static void the_request_is_compared(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    use_disk(folder);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG), other = options;
    other.no_fma = true;
    char first[512], second[512], kept[600];
    compile(add_source, &options);
    find_file(first);
    snprintf(kept, sizeof kept, "%s-kept", folder);
    assert_int_equal(rename(first, kept), 0);
    compile(add_source, &other);
    find_file(second);
    assert_int_equal(rename(kept, second), 0);
    acu_compile_forget();
    acu_compile_statistics before = counts();
    compile(add_source, &other);
    assert_int_equal(counts().dropped - before.dropped, 1);
    assert_int_equal(counts().compiled - before.compiled, 1);
}

static void a_disk_that_fails_costs_time_only(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    acu_compile_statistics before = counts();
    use_disk("/proc/no/such/folder");
    compile(add_source, &options);
    acu_compile_forget();
    use_disk("/dev/null");
    compile(add_source, &options);
    acu_compile_forget();
    use_disk("/proc/self"); /* exists, but nobody may create files in it */
    compile(add_source, &options);
    assert_int_equal(counts().disk_errors - before.disk_errors, 3);
    assert_int_equal(counts().compiled - before.compiled, 3);
}

/* All but the last byte fits, as if the disk were full then. The source is long, so that this is
 * the largest file that is written. */
static void a_disk_that_is_full_keeps_no_part(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    use_disk(folder);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    static char source[1 << 18];
    char path[512];
    struct stat info;
    struct rlimit was, less;
    snprintf(source, sizeof source, "%s\n//%0200000d\n", add_source, 0);
    compile(source, &options);
    find_file(path);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(unlink(path), 0);
    acu_compile_forget();
    acu_compile_statistics before = counts();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    less = was;
    less.rlim_cur = (rlim_t)info.st_size - 1;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    acu_code *code = NULL;
    acu_status status = acu_compile(device, source, &options, &code);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, handler);
    assert_works(status);
    acu_code_release(code);
    assert_int_equal(counts().disk_errors - before.disk_errors, 1);
    assert_int_equal(counts().written, before.written);
    acu_compile_forget();
    compile(source, &options);
    assert_int_equal(counts().compiled - before.compiled, 2); /* nothing was found */
    assert_int_equal(counts().written - before.written, 1);
    find_file(path); /* and nothing else is there */
}

static void the_disk_is_bounded(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    acu_compile_settings settings = {.size = sizeof settings, .cache_dir = folder, .disk_bytes = 1};
    assert_works(acu_compile_configure(&settings));
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    char foreign[512], begun[512];
    snprintf(foreign, sizeof foreign, "%s/somebody-elses.txt", folder);
    fclose(fopen(foreign, "w"));
    snprintf(begun, sizeof begun, "%s/begun-1-1.acucode", folder);
    fclose(fopen(begun, "w"));
    struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(0, begun, long_ago, 0), 0);
    compile(add_source, &options);
    assert_int_equal(access(begun, F_OK), -1); /* of a process that crashed */
    char left[512];
    find_file(left);
    assert_string_equal(left, foreign);
}

/* ---- what can not be used, and what is left over ---- */

/* A program in the test's folder that is asked for its version, and then ends as told. */
static void use_fake_clang(const char *body)
{
    char path[256];
    snprintf(path, sizeof path, "%s/clang", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", body);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    acu_compile_settings settings = {.size = sizeof settings, .clang = path, .no_disk = true};
    assert_works(acu_compile_configure(&settings));
}

#define VERSION "[ $1 = --version ] && echo clang version 14.0.6 && exit 0; "

static void broken_compilers(void **state)
{
    (void)state;
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    acu_code *code = NULL;
    use_fake_clang("exit 3");
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_NOT_SUPPORTED, "status 3");
    use_fake_clang(VERSION "kill -9 $$");
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_COMPILE, "signal 9|memory");
    use_fake_clang(VERSION "echo what is this; exit 1");
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_COMPILE,
                 "status 1|no error in the source|what is this");
    use_fake_clang(VERSION "echo 'error: out.ptx: No space left on device'; exit 1");
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_IO, "no space|TMPDIR");
    use_fake_clang(VERSION "echo 'source.cu:1:1: error: that is wrong'; exit 1");
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_COMPILE,
                 "refused|that is wrong");
}

/* Nothing can be written: that is said, whatever the compiler makes of it. */
static void without_room(void **state)
{
    (void)state;
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    acu_code *code = NULL;
    struct rlimit was, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 0;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    use_fake_clang("echo clang version 14.0.6");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    acu_status status = acu_compile(device, add_source, &options, &code);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, handler);
    assert_fails(status, ACU_ERR_IO, "writing|TMPDIR");
}

/* What others could have changed is not run. */
static void others_could_write(void **state)
{
    (void)state;
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    acu_code *code = NULL;
    use_fake_clang(VERSION);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_NOT_FOUND,
                 "not run|everybody can write|acuda-test-");
    acu_compile_settings settings = {.size = sizeof settings, .cache_dir = folder};
    assert_fails(acu_compile_configure(&settings), ACU_ERR_IO, "everybody can write|acuda-test-");
    const char *set = getenv("TMPDIR");
    char *before = set ? strdup(set) : NULL, inside[256];
    snprintf(inside, sizeof inside, "%s/inside", folder);
    assert_int_equal(mkdir(inside, 0700), 0);
    assert_int_equal(setenv("TMPDIR", inside, 1), 0);
    settings = (acu_compile_settings){.size = sizeof settings, .clang = "/bin/true",
                                      .no_disk = true};
    assert_works(acu_compile_configure(&settings));
    assert_fails(acu_compile(device, "", &options, &code), ACU_ERR_IO,
                 "everybody can write|TMPDIR");
    assert_int_equal(before ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
    free(before);
    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(chmod(folder, 0700), 0);
}

static void cached_code_that_others_could_write(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    char path[512];
    use_disk(folder);
    compile(add_source, &options);
    find_file(path);
    acu_compile_statistics before = counts();
    assert_int_equal(chmod(path, 0666), 0);
    acu_compile_forget();
    compile(add_source, &options); /* written anew */
    assert_int_equal(counts().compiled - before.compiled, 1);
    assert_int_equal(counts().written - before.written, 1);
    acu_compile_forget();
    compile(add_source, &options);
    assert_int_equal(counts().from_disk - before.from_disk, 1);
    assert_int_equal(chmod(folder, 0777), 0);
    acu_compile_forget();
    compile(add_source, &options); /* neither read nor written */
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(counts().compiled - before.compiled, 2);
    assert_int_equal(counts().written - before.written, 1);
    assert_true(counts().disk_errors > before.disk_errors);
}

static void make_leftover(const char *name, long age, char path[512])
{
    char file[600];
    snprintf(path, 512, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(file, sizeof file, "%s/source.cu", path);
    FILE *made = fopen(file, "w");
    assert_non_null(made);
    fclose(made);
    time_t then = time(NULL) - age;
    struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void drop_leftover(const char *path)
{
    char file[600];
    snprintf(file, sizeof file, "%s/source.cu", path);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(path), 0);
}

static void leftovers_are_removed(void **state)
{
    (void)state;
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    acu_code *code = NULL;
    char left[512], used[512], fresh[512], other[512];
    const char *set = getenv("TMPDIR");
    char *before = set ? strdup(set) : NULL;
    make_leftover("acuda-AAAAAA", 3600, left);
    make_leftover("acuda-BBBBBB", 3600, used);
    make_leftover("acuda-CCCCCC", 0, fresh);
    make_leftover("acuda-AAAAAAA", 3600, other); /* not of acuda's */
    int lock = open(used, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    use_fake_clang(VERSION "exit 1");
    assert_int_not_equal(acu_compile(device, "", &options, &code), ACU_OK);
    assert_int_equal(before ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
    free(before);
    close(lock);
    assert_int_equal(access(left, F_OK), -1);
    drop_leftover(used);
    drop_leftover(fresh);
    drop_leftover(other);
}

/* ---- files that a source includes ---- */

static void files_of_include_folders_count(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    static const char source[] = "#include <value.h>\n"
                                 "extern \"C\" __global__ void f(int *x) { x[0] = VALUE; }\n";
    const char *dirs[] = {folder};
    char path[512], path2[512];
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    options.include_dirs = dirs;
    options.include_dir_count = 1;
    snprintf(path, sizeof path, "%s/value.h", folder);
    snprintf(path2, sizeof path2, "%s/inner.h", folder);
    for (int i = 0; i < 3; i++) {
        FILE *f = fopen(path, "w");
        fprintf(f, "#include \"inner.h\"\n");
        fclose(f);
        f = fopen(path2, "w");
        fprintf(f, "#define VALUE %d\n", 1234 + i / 2);
        fclose(f);
        acu_code *code = NULL;
        char words[16];
        snprintf(words, sizeof words, "%d;", 1234 + i / 2);
        assert_works(acu_compile(device, source, &options, &code));
        assert_non_null(strstr(acu_code_ptx(code), words));
        acu_code_release(code);
    }
    acu_compile_statistics before = counts();
    options.arguments = (const char *const[]){"-DX=1", "-I/nowhere"};
    options.argument_count = 2;
    compile(source, &options); /* nobody knows what is in that file, so the result is not kept */
    compile(source, &options);
    assert_int_equal(counts().compiled - before.compiled, 2);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* acuda's own headers stand in a folder of their own. */
static void a_header_may_be_called_tile(void **state)
{
    (void)state;
    skip_without(compiler);
    const char *dirs[] = {folder};
    char path[512];
    int32_t got[N];
    acu_compile_options options = options_of(compiler);
    options.include_dirs = dirs;
    options.include_dir_count = 1;
    snprintf(path, sizeof path, "%s/tile.h", folder);
    write_text(path, "#define VALUE 321\n");
    acu_module *module = load("#include <acuda/device.cuh>\n#include \"tile.h\"\n"
                              "extern \"C\" __global__ void f(int *x) { x[0] = VALUE; }\n",
                              &options);
    run(module, "f", false, 0, got);
    assert_int_equal(got[0], 321);
    acu_module_release(module);
}

/* Sources that nvcc compiles begin so. Where a toolkit's headers are found, they define the types
 * of the prelude once more; a program's own headers are found whatever they are called. */
static void sources_for_nvcc_need_no_change(void **state)
{
    (void)state;
    skip_without(compiler);
    const char *dirs[] = {folder};
    char path[512];
    int32_t got[N];
    acu_compile_options options = options_of(compiler);
    acu_module *module = load("#include <cuda_runtime.h>\n#include \"device_launch_parameters.h\"\n"
                              "#include <vector_types.h>\n#include <vector_functions.h>\n"
                              "extern \"C\" __global__ void f(int *x) { x[0] = make_int2(7, 8).y; }\n",
                              &options);
    run(module, "f", false, 0, got);
    assert_int_equal(got[0], 8);
    acu_module_release(module);
    options.include_dirs = dirs;
    options.include_dir_count = 1;
    snprintf(path, sizeof path, "%s/vector_types.h", folder);
    write_text(path, "#define VALUE 432\n");
    module = load("#include <vector_types.h>\n"
                  "extern \"C\" __global__ void f(int *x) { x[0] = VALUE; }\n",
                  &options);
    run(module, "f", false, 0, got);
    assert_int_equal(got[0], 432);
    acu_module_release(module);
    unlink(path);
}

/* acuda's headers by CUDA's names are found before a toolkit's, wherever that is looked for. */
static void headers_of_a_toolkit_are_there(void **state)
{
    static const char *const names[] = {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuComplex.h",
                                        "cooperative_groups.h", "math_constants.h"};
    char path[512], source[2000] = "#include <device_functions.h>\n#include <math.h>\n"
                                   "#include <cooperative_groups/reduce.h>\n#include <new>\n";
    int32_t got[N];
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        write_text(path, "#error a toolkit's\n");
        snprintf(source + strlen(source), sizeof source - strlen(source), "#include <%s>\n",
                 names[i]);
    }
    strcat(source, "extern \"C\" __global__ void f(int *x)\n"
                   "{ x[0] = (int)(__half2float(__half(2.5f) * __half(4.0f)) + CUDART_PI_F); }\n");
    setenv("CPATH", folder, 1);
    acu_module *module = load(source, &options);
    unsetenv("CPATH");
    run(module, "f", false, 0, got);
    assert_int_equal(got[0], 13);
    acu_module_release(module);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

static void write_value(const char *path, int value)
{
    char text[32];
    snprintf(text, sizeof text, "#define VALUE %d\n", value);
    write_text(path, text);
}

/* acuda can not know what the compiler finds by arguments that are passed on: the result is not
 * kept. */
static void files_of_arguments_are_read_again(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    static const char *const forms[] = {"-I%s", "-idirafter%s", "-isystem%s", "-cxx-isystem%s",
                                        "-imacros%s/value.h", "-include%s/value.h"};
    char path[512], argument[600], words[16];
    snprintf(path, sizeof path, "%s/value.h", folder);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    options.arguments = (const char *const[]){argument};
    options.argument_count = 1;
    for (size_t i = 0; i < 2 * sizeof forms / sizeof *forms; i++) {
        const char *form = forms[i / 2];
        acu_code *code = NULL;
        write_value(path, 1234 + (int)(i % 2));
        snprintf(argument, sizeof argument, form, folder);
        snprintf(words, sizeof words, "%d;", 1234 + (int)(i % 2));
        assert_works(acu_compile(device,
                                 strstr(form, "value.h")
                                     ? "extern \"C\" __global__ void f(int *x) { x[0] = VALUE; }\n"
                                     : "#include <value.h>\n"
                                       "extern \"C\" __global__ void f(int *x) { x[0] = VALUE; }\n",
                                 &options, &code));
        assert_non_null(strstr(acu_code_ptx(code), words));
        acu_code_release(code);
    }
}

/* Included files count, however the source includes them: `line` has "%s" in the place of the
 * file's name. */
static void counts_included(const char *line, const char *name)
{
    char path[512], include[512], source[1024], words[16];
    snprintf(path, sizeof path, "%s/value.h", folder);
    snprintf(include, sizeof include, line, name);
    snprintf(source, sizeof source,
             "%s\nextern \"C\" __global__ void f(int *x) { x[0] = VALUE; }\n", include);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    for (int value = 1234; value < 1236; value++) {
        acu_code *code = NULL;
        write_value(path, value);
        snprintf(words, sizeof words, "%d;", value);
        assert_works(acu_compile(device, source, &options, &code));
        assert_non_null(strstr(acu_code_ptx(code), words));
        acu_code_release(code);
    }
}

static void files_of_other_places_count(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    static const char *const lines[] = {
        "#include \"%s\"", "/* two\nlines */ #include \"%s\"", "  #/**/include/**/\"%s\"",
        "#import \"%s\"",  "#inc\\\nlude \"%s\"", "%%: include <%s>", "\f#include \"%s\"",
        "/* */\v#include \"%s\"", "int before;\r#include \"%s\"", "%%\\\n:include \"%s\""};
    char path[512], outer[512];
    snprintf(path, sizeof path, "%s/value.h", folder);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        counts_included(lines[i], path);
    counts_included("#define VALUES \"%s\"\n#include VALUES", path); /* nothing knows that it does */
    snprintf(outer, sizeof outer, "%s/outer.h", folder);
    write_text(outer, "\xef\xbb\xbf#include \"value.h\"\n"); /* behind a byte order mark */
    counts_included("#include \"%s\"", outer);
    assert_int_equal(setenv("CPATH", folder, 1), 0);
    counts_included("#if __has_include(<%s>)\n#include <value.h>\n#endif", "value.h");
    unsetenv("CPATH");
    assert_int_equal(setenv("CPLUS_INCLUDE_PATH", folder, 1), 0);
    counts_included("#include <%s>", "value.h");
    unsetenv("CPLUS_INCLUDE_PATH");
}

/* Of a folder that clang searches without being told, in which tests do not write. */
static void files_of_the_system_count(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    static const char *const folders[] = {"/usr/local/include", "/usr/include"};
    acui_request request;
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    assert_works(acui_request_begin(&request, device, "source.cu",
                                    "#include <acuda/no_such_file.h>\n", &options));
    for (size_t i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/acuda/no_such_file.h", folders[i]);
        assert_non_null(memmem(request.key.data, request.key.count, path, strlen(path)));
    }
    acui_request_end(&request);
}

/* A directive in a comment may be a wrong one, which must not keep the result out of the caches. */
static void comments_about_directives_cost_nothing(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    static const char source[] = "/* About\n   #include's, and\n#include: that was it */\n"
                                 "extern \"C\" __global__ void f(int *x) { x[0] = 1; }\n";
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    acu_compile_statistics before = counts();
    compile(source, &options);
    compile(source, &options);
    assert_int_equal(counts().compiled - before.compiled, 1);
}

/* NVRTC looks beside the name of a header in memory, and of the source, as if they were files. */
static void files_beside_names_count(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_NVRTC);
    char path[512], name[600], words[16];
    const char *beside = folder + 1; /* from the root folder, since the name is a relative one */
    const acu_header header = {name, "#include \"value.h\"\n"};
    acu_compile_options options = options_of(ACU_COMPILER_NVRTC);
    char here[PATH_MAX], source[1024];
    options.headers = &header;
    options.header_count = 1;
    snprintf(path, sizeof path, "%s/value.h", folder);
    snprintf(name, sizeof name, "%s/header.h", beside);
    snprintf(source, sizeof source,
             "#include \"%s\"\nextern \"C\" __global__ void f(int *x) { x[0] = VALUE; }\n", name);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir("/"), 0);
    acu_status status[2] = {ACU_OK, ACU_OK};
    bool seen[2] = {false, false};
    for (int i = 0; i < 2; i++) {
        acu_code *code = NULL;
        write_value(path, 1234 + i);
        snprintf(words, sizeof words, " %d;", 1234 + i);
        status[i] = acu_compile(device, source, &options, &code);
        seen[i] = status[i] == ACU_OK && strstr(acu_code_ptx(code), words);
        if (code)
            acu_code_release(code);
    }
    assert_int_equal(chdir(here), 0);
    for (int i = 0; i < 2; i++)
        assert_true(status[i] == ACU_OK && seen[i]);
}

/* Processes share a folder: a later one finds complete files. */
static void processes_share(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    pid_t children[2];
    char *arguments[] = {"test_compile", "share", NULL};
    assert_int_equal(setenv("ACUDA_CACHE_DIR", folder, 1), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(posix_spawn(&children[i], "/proc/self/exe", NULL, NULL, arguments, environ), 0);
    unsetenv("ACUDA_CACHE_DIR");
    for (int i = 0; i < 2; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    char path[512];
    find_file(path);
    use_disk(folder);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    acu_compile_statistics before = counts();
    compile(add_source, &options);
    assert_int_equal(counts().from_disk - before.from_disk, 1);
}

static void share(void **state)
{
    (void)state;
    device = test_open();
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    compile(add_source, &options);
    test_close(device);
    test_leaks_none();
}

/* Each allocation fails in turn. */
static void allocations_fail(void **state)
{
    (void)state;
    skip_without(ACU_COMPILER_CLANG);
    use_disk(folder);
    acu_compile_options options = options_of(ACU_COMPILER_CLANG);
    options.expressions = (const char *const[]){"scale<int>"};
    options.expression_count = 1;
    acu_debug_fail_alloc(0, false);
    acu_module_release(load(templates, &options));
    uint64_t count = acu_debug_alloc_count();
    unsigned failed = 0;
    uint64_t dropped = counts().dropped;
    for (uint64_t nth = 1; nth <= count + 2; nth++) {
        acu_module_source from = {.size = sizeof from, .cuda = templates, .compile = &options};
        acu_module *module = NULL;
        acu_compile_forget(); /* from the disk: quick; the first ones compile */
        acu_debug_fail_alloc(nth, nth % 2);
        acu_status status = acu_module_load(device, &from, &module);
        acu_debug_fail_alloc(0, false);
        failed += status != ACU_OK;
        assert_true(status == ACU_OK || status == ACU_ERR_NO_MEMORY || status == ACU_ERR_PTX ||
                    status == ACU_ERR_COMPILE || status == ACU_ERR_DEVICE_MEMORY);
        acu_module_release(module);
    }
    assert_true(failed > 10);
    assert_int_equal(counts().dropped, dropped); /* no file was at fault */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define NVRTC(f) {"nvrtc: " #f, f, setup, teardown, &nvrtc}

int main(int argc, char **argv)
{
    static const test_case cases[] = {{"share", share}};
    static int nvrtc = 1;
    if (argc > 1)
        return test_run_case(cases, 1, argv[1]);
    const struct CMUnitTest tests[] = {
        TEST(a_source_runs),
        TEST(a_byte_order_mark_is_no_source),
        TEST(names_are_not_source),
        TEST(names_of_templates),
        TEST(options_count),
        TEST(nothing_is_contracted),
        TEST(accesses_to_tiles_are_checked_if_asked),
        TEST(usual_mathematics),
        TEST(errors_are_told),
        TEST(the_first_error_is_told),
        TEST(logs_are_understood),
        TEST(as_a_future),
        NVRTC(a_source_runs),
        NVRTC(a_byte_order_mark_is_no_source),
        NVRTC(names_are_not_source),
        NVRTC(names_of_templates),
        NVRTC(options_count),
        NVRTC(nothing_is_contracted),
        NVRTC(accesses_to_tiles_are_checked_if_asked),
        NVRTC(usual_mathematics),
        NVRTC(errors_are_told),
        NVRTC(the_first_error_is_told),
        NVRTC(as_a_future),
        TEST(a_header_may_be_called_tile),
        NVRTC(a_header_may_be_called_tile),
        TEST(sources_for_nvcc_need_no_change),
        TEST(headers_of_a_toolkit_are_there),
        TEST(refusals), TEST(without_descriptors),
        TEST(memory_hits),
        TEST(at_once_is_once),
        TEST(disk_hits),
        TEST(files_of_others_are_not_read),
        TEST(damaged_files_are_dropped),
        TEST(the_request_is_compared),
        TEST(a_disk_that_fails_costs_time_only),
        TEST(a_disk_that_is_full_keeps_no_part),
        TEST(the_disk_is_bounded),
        TEST(broken_compilers),
        TEST(without_room),
        TEST(others_could_write),
        TEST(cached_code_that_others_could_write),
        TEST(leftovers_are_removed),
        TEST(files_of_include_folders_count),
        TEST(files_of_arguments_are_read_again),
        TEST(files_of_other_places_count),
        TEST(files_of_the_system_count),
        TEST(comments_about_directives_cost_nothing),
        TEST(files_beside_names_count),
        TEST(processes_share),
        TEST(allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
