/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Engines of TensorRT, of which tests/tensorrt/standin has as much as is needed. */
#include "support/support.h"
#include "tensorrt/shim.h"

#include <acuda/acuda.h>
#include <acuda/adapters/tensorrt.h>

#include <string.h>
#include <unistd.h>

#ifdef HAVE_SHIM

static const char one_layer[] = "in x 0 -1 3\nout y 0 -1 3\nwork 4096\n";
static const char two[] = "in a 0 -1 4\nin b 5 2 -1\nout c 0 -1 4\nout d 5 2 -1\nwork 512\n";

static acu_status load(acu_device *device, const char *text, int contexts, acu_trt_engine **engine)
{
    acu_trt_options o = {.size = sizeof o, .data = text, .bytes = strlen(text),
                         .contexts = contexts};
    return acu_trt_load(device, &o, engine);
}

static acu_trt_engine *loaded(acu_device *device, const char *text, int contexts)
{
    acu_trt_engine *engine = NULL;
    assert_works(load(device, text, contexts, &engine));
    return engine;
}

static void end(acu_device *device)
{
    test_close(device);
    test_leaks_none();
    assert_int_equal(standin_live(), 0);
    assert_int_equal(standin_overlaps(), 0);
}

static acu_op *numbers(int rows, int columns, float first)
{
    float x[64];
    for (int i = 0; i < rows * columns; i++)
        x[i] = first + (float)i;
    return acu_const(ACU_F32, ACU_SHAPE(rows, columns), x);
}

/* The tensor, which is released, has the numbers from `first` on, `step` apart. */
static void assert_numbers(acu_tensor *t, int count, float first, float step)
{
    float have[64];
    assert_int_equal(acu_tensor_bytes(t), count * 4);
    assert_works(acu_read_sync(t, have, acu_tensor_bytes(t)));
    for (int i = 0; i < count; i++)
        assert_true(have[i] == first + step * (float)i);
    acu_tensor_release(t);
}

static void among_others(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_trt_engine *engine = loaded(device, one_layer, 0);
    acu_tensor *y, *out;
    assert_works(acu_sync(device, acu_neg(acu_trt_infer(engine, acu_mul(numbers(2, 3, 1), 2.0))),
                          &y));
    assert_int_equal(acu_tensor_shape(y).dim[0], 2);
    assert_numbers(y, 6, -2, -2);
    /* Of strides, in host memory, at an odd place; where acu_into wants it. */
    assert_works(acu_sync(device, acu_trt_infer(engine, acu_transpose(numbers(3, 1, 0), 0, 1)),
                          &y));
    assert_numbers(y, 3, 0, 1);
    assert_works(acu_sync(device, acu_trt_infer(engine, acu_to_host(numbers(8, 3, 5))), &y));
    assert_numbers(y, 24, 5, 1);
    acu_op *part = acu_slice(numbers(4, 3, 0), ACU_SHAPE(1, 0), ACU_SHAPE(3, 3));
    assert_works(acu_sync(device, acu_trt_infer(engine, part), &y));
    assert_numbers(y, 6, 3, 1);
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(2, 3)), &out));
    assert_works(acu_sync(device, acu_into(out, acu_trt_infer(engine, numbers(2, 3, 9))), NULL));
    assert_numbers(out, 6, 9, 1);
    acu_trt_release(engine);
    end(device);
}

static void several_values(void **state)
{
    (void)state;
    static const uint8_t bytes[4] = {7, 8, 9, 10};
    acu_device *device = test_open();
    acu_trt_engine *engine = loaded(device, two, 1);
    acu_future *future;
    uint8_t have[4];
    assert_works(acu_submit(device, acu_trt_infer(engine, numbers(3, 4, 1),
                                                  acu_const(ACU_U8, ACU_SHAPE(2, 2), bytes)),
                            NULL, &future));
    acu_trt_release(engine); /* the work keeps it */
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(acu_future_values(future), 2);
    assert_numbers(acu_tensor_retain(acu_future_tensor(future, 0)), 12, 1, 1);
    assert_works(acu_read_sync(acu_future_tensor(future, 1), have, sizeof have));
    assert_memory_equal(have, bytes, sizeof bytes);
    acu_future_release(future);
    end(device);
}

/* Many at a time, with different shapes, through two contexts' memory. */
static void many(void **state)
{
    (void)state;
    enum { MANY = 40 };
    acu_device *device = test_open();
    acu_trt_engine *engine = loaded(device, one_layer, 2);
    acu_future *future[MANY];
    for (int i = 0; i < MANY; i++)
        future[i] = test_submit(device, acu_trt_infer(engine, numbers(1 + i % 8, 3, (float)i)));
    for (int i = 0; i < MANY; i++) {
        assert_works(acu_future_wait(future[i], ACU_FOREVER));
        assert_numbers(acu_tensor_retain(acu_future_tensor(future[i], 0)), 3 * (1 + i % 8),
                       (float)i, 1);
        acu_future_release(future[i]);
    }
    acu_trt_release(engine);
    end(device);
}

static void values(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_trt_engine *engine = loaded(device, two, 1);
    acu_model_value v = {.size = sizeof v};
    assert_int_equal(acu_trt_inputs(engine), 2);
    assert_int_equal(acu_trt_outputs(engine), 2);
    assert_works(acu_trt_input(engine, 1, &v));
    assert_string_equal(v.name, "b");
    assert_int_equal(v.dtype, ACU_U8);
    assert_true(acu_shape_equal(v.shape, ACU_SHAPE(2, 0)));
    assert_works(acu_trt_output(engine, 0, &v));
    assert_string_equal(v.name, "c");
    assert_string_equal(v.symbols[0], "");
    assert_fails(acu_trt_input(engine, 2, &v), ACU_ERR_INVALID, "there are 2 of them");
    assert_fails(acu_trt_output(engine, 0, NULL), ACU_ERR_INVALID, "");
    assert_int_equal(acu_trt_inputs(NULL), 0);
    assert_ptr_equal(acu_trt_retain(engine), engine);
    acu_trt_release(engine);
    acu_trt_release(engine);
    end(device);
}

static void from_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/acuda-test-trt-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, one_layer, strlen(one_layer)), strlen(one_layer));
    close(descriptor);
    acu_device *device = test_open();
    acu_trt_options o = {.size = sizeof o, .path = path};
    acu_trt_engine *engine = NULL;
    acu_tensor *y;
    assert_works(acu_trt_load(device, &o, &engine));
    unlink(path);
    assert_works(acu_sync(device, acu_trt_infer(engine, numbers(1, 3, 2)), &y));
    assert_numbers(y, 3, 2, 1);
    acu_trt_release(engine);
    assert_fails(acu_trt_load(device, &o, &engine), ACU_ERR_NOT_FOUND, "can not be read");
    assert_null(engine);
    end(device);
}

static void refused_engines(void **state)
{
    static const struct {
        const char *text;
        acu_status status;
        const char *words;
    } cases[] = {
        {"what is this\n", ACU_ERR_DRIVER, "deserializeCudaEngine: the engine is broken: what is"},
        {"in x 0 3\nhost x\n", ACU_ERR_NOT_SUPPORTED, "input x|is in host memory"},
        {"in x 0 3\nout y 0 3\nodd y\n", ACU_ERR_NOT_SUPPORTED, "output y|no plain tensor"},
        {"in x 9 3\n", ACU_ERR_NOT_SUPPORTED, "a type that acuda does not have"},
    };
    (void)state;
    acu_device *device = test_open();
    acu_trt_engine *engine;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(load(device, cases[i].text, 0, &engine), cases[i].status, cases[i].words);
    assert_fails(load(device, one_layer, 17, &engine), ACU_ERR_INVALID, "17 contexts");
    acu_trt_options o = {.size = sizeof o};
    assert_fails(acu_trt_load(device, &o, &engine), ACU_ERR_INVALID, "named by its path");
    o = (acu_trt_options){.size = sizeof o, .data = one_layer, .bytes = strlen(one_layer),
                          .profile = 1};
    assert_fails(acu_trt_load(device, &o, &engine), ACU_ERR_INVALID, "profile 1 (of 1)");
    assert_fails(acu_trt_load(device, NULL, &engine), ACU_ERR_INVALID, "NULL");
    end(device);
}

static void refused_runs(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_trt_engine *engine = loaded(device, one_layer, 1);
    acu_tensor *y;
    assert_fails(acu_sync(device, acu_trt_infer(engine, numbers(2, 3, 0), numbers(2, 3, 0)), NULL),
                 ACU_ERR_ARGUMENTS, "2 inputs, and the engine takes 1");
    assert_fails(acu_sync(device, acu_trt_infer(engine, numbers(2, 4, 0)), NULL), ACU_ERR_SHAPE,
                 "input 0 (\"x\") is f32 [2, 4], and the engine takes f32 [any, 3]");
    assert_fails(acu_sync(device, acu_trt_infer(engine, acu_zeros(ACU_I32, ACU_SHAPE(2, 3))), NULL),
                 ACU_ERR_DTYPE, "is i32 [2, 3]");
    assert_fails(acu_sync(device, acu_trt_infer(engine, numbers(9, 3, 0)), NULL), ACU_ERR_SHAPE,
                 "it says: an extent of 9 is beyond the profile");
    assert_fails(acu_sync(device, acu_trt_infer(NULL, numbers(2, 3, 0)), NULL), ACU_ERR_INVALID,
                 "the engine is NULL");
    /* A run that fails is the future's error; the next one is right. */
    standin_refuse();
    assert_fails(acu_sync(device, acu_trt_infer(engine, numbers(2, 3, 0)), NULL),
                 ACU_ERR_CALLBACK, "TensorRT refused enqueueV3: it is not wanted");
    assert_string_equal(acu_last_error()->op, "trt_infer");
    assert_works(acu_sync(device, acu_trt_infer(engine, numbers(2, 3, 4)), &y));
    assert_numbers(y, 6, 4, 1);
    acu_trt_release(engine);
    end(device);
}

static acu_op *load_and_run(void *user, acu_device *device)
{
    acu_trt_engine *engine;
    (void)user;
    if (load(device, one_layer, 1, &engine) != ACU_OK)
        return acu_op_fail(acu_last_error()->status, "trt_load", ACU_SITE, NULL);
    acu_op *op = acu_trt_infer(engine, numbers(2, 3, 0));
    acu_trt_release(engine);
    return op;
}

static acu_op *one(void)
{
    return acu_make(load_and_run, NULL);
}

static void without_memory(void **state)
{
    (void)state;
    acu_device *device = test_open();
    test_fail_each_alloc(device, one);
    end(device);
}

static void without_the_driver(void **state)
{
    (void)state;
    test_software_only();
    test_fail_each_call(NULL, one);
    assert_int_equal(standin_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(among_others),    cmocka_unit_test(several_values),
        cmocka_unit_test(many),            cmocka_unit_test(values),
        cmocka_unit_test(from_a_file),     cmocka_unit_test(refused_engines),
        cmocka_unit_test(refused_runs),    cmocka_unit_test(without_memory),
        cmocka_unit_test(without_the_driver)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("skipped: no C++ compiler was found\n");
    return 77;
}

#endif
