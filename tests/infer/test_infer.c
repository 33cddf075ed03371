/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Models by onnxruntime, or, for most of it, by a library that poses as it (fake_ort.c), by either
 * provider; by the real one on the CPU: examples/onnx.c, where it is installed. */
#include "vendor/with_library.h"

#include <acuda/acuda.h>
#include <acuda/infer.h>

#include <string.h>
#include <unistd.h>

static const char layer[] = "in x 1 batch 3\nout y 1 batch 3\n";
static const char two[] = "in a 1 n 2\nin k 7\nin b 1 n 2\nout sum 1 n 2\nout total 1\n"
                          "out picked 7 ? 2\n";

static acu_device *open_it(void)
{
    test_software_only(); /* the models are those of the fake */
    with_fake(ACU_VENDOR_ONNXRUNTIME, "infer/libfake_ort.so");
    return test_open();
}

static acu_status load(acu_device *device, const char *text, acu_provider provider,
                       acu_model **model)
{
    acu_model_options o = {.size = sizeof o, .data = text, .bytes = strlen(text),
                           .provider = provider};
    return acu_model_load(device, &o, model);
}

static acu_model *loaded(acu_device *device, const char *text, acu_provider provider)
{
    acu_model *model = NULL;
    assert_works(load(device, text, provider, &model));
    return model;
}

static acu_op *numbers(int rows, int columns, float first)
{
    float x[64];
    for (int i = 0; i < rows * columns; i++)
        x[i] = first + (float)i;
    return acu_const(ACU_F32, ACU_SHAPE(rows, columns), x);
}

static void read_floats(acu_tensor *t, float *to)
{
    assert_works(acu_read_sync(t, to, acu_tensor_bytes(t)));
    acu_tensor_release(t);
}

/* ---- one input, one output ------------------------------------------------------------------- */

static void one_layer(acu_device *device, acu_provider provider)
{
    acu_model *model = loaded(device, layer, provider);
    acu_tensor *y, *out;
    float have[12];
    assert_int_equal(acu_model_provider(model), provider);
    assert_works(acu_sync(device, acu_infer(model, acu_mul(numbers(2, 3, 1), 2.0)), &y));
    assert_int_equal(acu_tensor_shape(y).dim[0], 2);
    assert_null(acu_tensor_host(y));
    read_floats(y, have);
    for (int i = 0; i < 6; i++)
        assert_true(have[i] == 2 * (1 + (float)i));
    /* In the middle of others, with another batch, of strides, and where acu_into wants it. */
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(4, 3)), &out));
    acu_op *turned = acu_transpose(numbers(3, 4, 0), 0, 1);
    assert_works(acu_sync(device, acu_neg(acu_into(out, acu_infer(model, turned))), &y));
    read_floats(y, have);
    for (int i = 0; i < 12; i++)
        assert_true(have[i] == -(float)(i % 3 * 4 + i / 3));
    read_floats(out, have);
    assert_true(have[1] == 4);
    /* From the host's memory. */
    assert_works(acu_sync(device, acu_infer(model, acu_to_host(numbers(1, 3, 5))), &y));
    read_floats(y, have);
    assert_true(have[2] == 7);
    acu_model_release(model);
}

static void by_either_provider(void **state)
{
    (void)state;
    acu_device *device = open_it();
    one_layer(device, ACU_PROVIDER_CPU);
    one_layer(device, ACU_PROVIDER_CUDA);
    with_end(device);
}

/* ---- several --------------------------------------------------------------------------------- */

static acu_op *of_two(acu_model *model, const acu_shape *shapes, int rows)
{
    const int64_t ten = 10;
    return acu_infer_as(model, shapes, numbers(rows, 2, 0), acu_const(ACU_I64, ACU_SHAPE(1), &ten),
                        numbers(rows, 2, 1));
}

static void sums(acu_device *device, acu_provider provider)
{
    acu_model *model = loaded(device, two, provider);
    const acu_shape shapes[3] = {{0}, ACU_SHAPE(1), ACU_SHAPE(3, 2)};
    float sum[4], total;
    int64_t picked[6];
    acu_future *future;
    assert_works(acu_submit(device, of_two(model, shapes, 2), NULL, &future));
    acu_model_release(model); /* the work keeps it */
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(acu_future_values(future), 3);
    assert_works(acu_read_sync(acu_future_tensor(future, 0), sum, sizeof sum));
    assert_works(acu_read_sync(acu_future_tensor(future, 1), &total, sizeof total));
    assert_works(acu_read_sync(acu_future_tensor(future, 2), picked, sizeof picked));
    assert_true(sum[0] == 11 && sum[3] == 17 && total == 22);
    assert_true(picked[0] == 33 && picked[3] == 51 && picked[5] == 39);
    acu_future_release(future);
}

static void several_values(void **state)
{
    (void)state;
    acu_device *device = open_it();
    sums(device, ACU_PROVIDER_CPU);
    sums(device, ACU_PROVIDER_CUDA);
    with_end(device);
}

/* Many at a time of two models, each behind the one before it. */
static void many(void **state)
{
    (void)state;
    acu_device *device = open_it();
    acu_model *model[2] = {loaded(device, layer, ACU_PROVIDER_CPU),
                           loaded(device, layer, ACU_PROVIDER_CUDA)};
    acu_tensor *x[4];
    float have[6];
    for (int i = 0; i < 4; i++)
        assert_works(acu_sync(device, numbers(2, 3, (float)i), &x[i]));
    for (int turn = 0; turn < 40; turn++) {
        int i = turn % 4;
        acu_op *next = acu_add(acu_infer(model[turn % 3 % 2], acu_value(x[i])), 1.0);
        assert_works(acu_submit(device, acu_copy(x[i], next), NULL, NULL));
    }
    for (int i = 0; i < 4; i++) {
        read_floats(x[i], have);
        assert_true(have[0] == (float)(i + 10) && have[5] == (float)(i + 15));
    }
    acu_model_release(model[0]);
    acu_model_release(model[1]);
    with_end(device);
}

/* ---- what a model says ----------------------------------------------------------------------- */

static void values(void **state)
{
    (void)state;
    acu_device *device = open_it();
    acu_model *model = loaded(device, two, ACU_PROVIDER_ANY);
    acu_model_value v = {.size = sizeof v};
    assert_int_equal(acu_model_provider(model), ACU_PROVIDER_CPU); /* no GPU here */
    assert_int_equal(acu_model_inputs(model), 3);
    assert_int_equal(acu_model_outputs(model), 3);
    assert_works(acu_model_input(model, 2, &v));
    assert_string_equal(v.name, "b");
    assert_true(v.dtype == ACU_F32 && v.shape.rank == 2 && v.shape.dim[0] == 0);
    assert_string_equal(v.symbols[0], "n");
    assert_string_equal(v.symbols[1], "");
    assert_works(acu_model_output(model, 1, &v));
    assert_true(v.shape.rank == 1 && v.shape.dim[0] == 1);
    assert_fails(acu_model_output(model, 3, &v), ACU_ERR_INVALID, "has 3 of them");
    acu_model_release(model);
    assert_int_equal(acu_model_inputs(NULL), 0);
    acu_model_release(NULL);
    with_end(device);
}

static void from_a_file(void **state)
{
    (void)state;
    acu_device *device = open_it();
    char path[] = "/tmp/acuda-test-model-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(write(file, layer, sizeof layer - 1) == sizeof layer - 1);
    close(file);
    acu_model *model = NULL;
    acu_model_options o = {.size = sizeof o, .path = path, .threads = 1};
    assert_works(acu_model_load(device, &o, &model));
    acu_model_release(model);
    unlink(path);
    assert_fails(acu_model_load(device, &o, &model), ACU_ERR_NOT_FOUND, "no file");
    o.data = layer;
    assert_fails(acu_model_load(device, &o, &model), ACU_ERR_INVALID, "one of them");
    o = (acu_model_options){.size = sizeof o};
    assert_fails(acu_model_load(device, &o, &model), ACU_ERR_INVALID, "no model");
    o = (acu_model_options){.size = sizeof o, .path = path, .provider = 7};
    assert_fails(acu_model_load(device, &o, &model), ACU_ERR_INVALID, "no acu_provider");
    o = (acu_model_options){.size = sizeof o, .path = path, .threads = -1};
    assert_fails(acu_model_load(device, &o, &model), ACU_ERR_INVALID, "-1 threads");
    with_end(device);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refused_models(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
        acu_status status;
    } cases[] = {
        {"nonsense", "protobuf parsing failed", ACU_ERR_INVALID},
        {"in x -1 2\n", "\"x\" of the model is no tensor", ACU_ERR_NOT_SUPPORTED},
        {"in x 8 2\n", "type that acuda does not have", ACU_ERR_NOT_SUPPORTED},
        {"in x 1 2\nout y 1 1 1 1 1 1 1 1\n", "\"y\" of the model has more dimensions",
         ACU_ERR_NOT_SUPPORTED},
        {"in x 1 0\n", "is empty", ACU_ERR_NOT_SUPPORTED},
    };
    acu_device *device = open_it();
    acu_model *model;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(load(device, cases[i].text, ACU_PROVIDER_CPU, &model), cases[i].status,
                     cases[i].words);
    atomic_store(&fake->fail_create, 9);
    assert_fails(load(device, layer, ACU_PROVIDER_CUDA, &model), ACU_ERR_NOT_SUPPORTED,
                 "NOT_IMPLEMENTED (9) to session_of_bytes: the model is not wanted");
    atomic_store(&fake->fail_create, 99);
    assert_fails(load(device, layer, ACU_PROVIDER_CPU, &model), ACU_ERR_DRIVER, "? (99)");
    atomic_store(&fake->fail_create, 0);
    with_end(device);
}

static void refused_inputs(void **state)
{
    (void)state;
    acu_device *device = open_it();
    acu_model *model = loaded(device, layer, ACU_PROVIDER_CPU);
    acu_model *both = loaded(device, two, ACU_PROVIDER_CPU);
    const acu_shape wrong[3] = {ACU_SHAPE(2, 3), ACU_SHAPE(1), ACU_SHAPE(1, 2)};
    const acu_shape rank[3] = {ACU_SHAPE(2), {0}, ACU_SHAPE(1, 2)};
    const int64_t one = 1;
#define REFUSED(op, status, words) assert_fails(acu_sync(device, op, NULL), status, words)
    REFUSED(acu_infer(model, numbers(2, 4, 0)), ACU_ERR_SHAPE,
            "input 0 (\"x\") is f32 [2, 4], and the model takes f32 [batch, 3]");
    REFUSED(acu_infer(model, acu_zeros(ACU_F32, ACU_SHAPE(3))), ACU_ERR_SHAPE, "f32 [3]");
    REFUSED(acu_infer(model, acu_zeros(ACU_F16, ACU_SHAPE(2, 3))), ACU_ERR_DTYPE, "f16 [2, 3]");
    REFUSED(acu_infer(model, acu_op_number_f64(1, ACU_SITE)), ACU_ERR_ARGUMENTS, "input 0");
    REFUSED(acu_infer(both, numbers(2, 2, 0)), ACU_ERR_ARGUMENTS, "1 inputs, and the model takes 3");
    REFUSED(acu_infer(both, numbers(2, 2, 0), acu_const(ACU_I64, ACU_SHAPE(1), &one),
                      numbers(3, 2, 0)),
            ACU_ERR_SHAPE, "input 2 (\"b\") is f32 [3, 2], and the model takes f32 [n, 2], where");
    REFUSED(of_two(both, NULL, 2), ACU_ERR_SHAPE, "\"picked\") is i64 [any, 2]: extent 0");
    REFUSED(of_two(both, wrong, 2), ACU_ERR_SHAPE, "\"sum\") is f32 [n, 2], and not f32 [2, 3]");
    REFUSED(of_two(both, rank, 2), ACU_ERR_SHAPE, "and not f32 [2]");
    acu_model_release(both);
    acu_op *op = acu_infer(model, numbers(1, 3, 0));
    acu_model_release(model);
    assert_works(acu_sync(device, op, NULL)); /* the op kept it */
    REFUSED(acu_infer(model, numbers(1, 3, 0)), ACU_ERR_BAD_HANDLE, "model was released already");
    REFUSED(acu_infer(NULL, numbers(1, 3, 0)), ACU_ERR_INVALID, "the model is NULL");
    with_end(device);
}

static void in_no_graph(void **state)
{
    (void)state;
    acu_device *device = open_it();
    acu_graph *graph;
    for (int p = ACU_PROVIDER_CPU; p <= ACU_PROVIDER_CUDA; p++) {
        acu_model *model = loaded(device, layer, (acu_provider)p);
        assert_fails(acu_graph_load(device, acu_infer(model, numbers(1, 3, 0)), NULL, &graph),
                     ACU_ERR_NOT_SUPPORTED, "infer");
        acu_model_release(model);
    }
    with_end(device);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* A run that fails is the future's error; what reads its output does not run; the next one does. */
static void failed_runs(void **state)
{
    (void)state;
    acu_device *device = open_it();
    for (int p = ACU_PROVIDER_CPU; p <= ACU_PROVIDER_CUDA; p++) {
        acu_model *model = loaded(device, layer, (acu_provider)p);
        acu_tensor *y;
        atomic_store(&fake->fail_call, 6);
        assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(1, 3)), &y));
        acu_future *future =
            test_submit(device, acu_copy(y, acu_infer(model, numbers(1, 3, 0))));
        assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DRIVER,
                     "RUNTIME_EXCEPTION (6) to run: the run is not wanted");
        assert_string_equal(acu_last_error()->op, "infer");
        acu_future_release(future);
        atomic_store(&fake->fail_call, 0);
        assert_works(acu_sync(device, acu_copy(y, acu_infer(model, numbers(1, 3, 0))), NULL));
        acu_tensor_release(y);
        acu_model_release(model);
    }
    with_end(device);
}

static acu_status load_and_run(acu_device *device, acu_provider provider)
{
    acu_model *model;
    acu_status status = load(device, layer, provider, &model);
    if (status == ACU_OK) {
        status = acu_sync(device, acu_infer(model, numbers(2, 3, 0)), NULL);
        acu_model_release(model);
    }
    return status;
}

static void without_memory(void **state)
{
    (void)state;
    acu_device *device = open_it();
    for (int p = ACU_PROVIDER_CPU; p <= ACU_PROVIDER_CUDA; p++)
        for (uint64_t n = 1;; n++) {
            acu_debug_fail_alloc(n, false);
            acu_status status = load_and_run(device, (acu_provider)p);
            bool reached = acu_debug_alloc_count() >= n;
            acu_debug_fail_alloc(0, false);
            if (status != ACU_OK)
                assert_int_equal(status, ACU_ERR_NO_MEMORY);
            if (!reached)
                break;
        }
    with_end(device);
}

static void fail_call(acu_provider provider, acu_driver_call call, uint64_t nth, bool *hit)
{
    acu_device *device = open_it();
    const acu_driver_fault fault = {.size = sizeof fault, .call = call, .nth = nth};
    assert_works(acu_driver_fail(&fault));
    acu_status status = load_and_run(device, provider);
    *hit = acu_driver_fault_hits() > 0;
    acu_driver_fail_clear();
    assert_true(*hit || status == ACU_OK);
    if (acu_device_status(device, NULL) == ACU_OK)
        assert_works(load_and_run(device, provider));
    with_end(device);
}

/* Each call that is made of the driver, failing once. */
static void without_the_driver(void **state)
{
    (void)state;
    test_software_only();
    static const acu_driver_call calls[] = {
        ACU_CALL_StreamCreate, ACU_CALL_EventCreate,      ACU_CALL_EventRecord,
        ACU_CALL_StreamWaitEvent, ACU_CALL_LaunchHostFunc, ACU_CALL_MemcpyHtoDAsync,
        ACU_CALL_MemcpyDtoHAsync};
    for (int p = ACU_PROVIDER_CPU; p <= ACU_PROVIDER_CUDA; p++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            bool hit = true;
            for (uint64_t nth = 1; hit && nth < 6; nth++)
                fail_call((acu_provider)p, calls[i], nth, &hit);
        }
}

/* ---- finding it ------------------------------------------------------------------------------ */

static void too_old(void **state)
{
    (void)state;
    acu_device *device = open_it();
    acu_model *model;
    void (*set)(int);
    void *library = dlopen(acu_vendor_load(device, ACU_VENDOR_ONNXRUNTIME) == ACU_OK
                               ? acu_vendor_path(ACU_VENDOR_ONNXRUNTIME) : "", RTLD_NOW);
    void *symbol = library ? dlsym(library, "fake_ort_api") : NULL;
    assert_non_null(symbol);
    memcpy(&set, &symbol, sizeof set);
    set(10);
    assert_fails(load(device, layer, ACU_PROVIDER_CPU, &model), ACU_ERR_NOT_SUPPORTED,
                 "onnxruntime 1.17.3");
    set(11);
    assert_works(load(device, layer, ACU_PROVIDER_CPU, &model));
    assert_int_equal(acu_vendor_version(ACU_VENDOR_ONNXRUNTIME), 11703);
    acu_model_release(model);
    with_end(device);
}

static void off(void **state)
{
    (void)state;
    acu_device *device = open_it();
    acu_model *model;
    acu_vendor_settings settings = {.size = sizeof settings, .off = true};
    assert_works(acu_vendor_configure(ACU_VENDOR_ONNXRUNTIME, &settings));
    assert_fails(load(device, layer, ACU_PROVIDER_CPU, &model), ACU_ERR_NOT_FOUND,
                 "switched off by acu_vendor_configure");
    settings = (acu_vendor_settings){.size = sizeof settings, .path = "/none/libonnxruntime.so"};
    assert_works(acu_vendor_configure(ACU_VENDOR_ONNXRUNTIME, &settings));
    assert_fails(load(device, layer, ACU_PROVIDER_CPU, &model), ACU_ERR_NOT_FOUND,
                 "pip install onnxruntime has it");
    with_end(device);
}

static void versions(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("too_old");
    test_in_process("off");
}

int main(int count, char **words)
{
    static const test_case cases[] = {{"too_old", too_old}, {"off", off}};
    if (count > 1)
        return test_run_case(cases, sizeof cases / sizeof *cases, words[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_either_provider), cmocka_unit_test(several_values),
        cmocka_unit_test(many),               cmocka_unit_test(values),
        cmocka_unit_test(from_a_file),        cmocka_unit_test(refused_models),
        cmocka_unit_test(refused_inputs),     cmocka_unit_test(in_no_graph),
        cmocka_unit_test(failed_runs),        cmocka_unit_test(without_memory),
        cmocka_unit_test(without_the_driver), cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
