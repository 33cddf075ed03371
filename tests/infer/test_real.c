/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The network of examples/data by onnxruntime itself, where it is installed: by the provider that
 * the device gets (on a GPU CUDA's, if that onnxruntime has one), compared with the CPU's. */
#include "support/support.h"

#include <acuda/acuda.h>
#include <acuda/infer.h>
#include <acuda/vendor.h>

#include <math.h>

enum { PIXELS = 64, CLASSES = 10, MOST = 48 };

static acu_device *open_it(void)
{
    acu_device *device = test_open();
    if (acu_vendor_load(device, ACU_VENDOR_ONNXRUNTIME) == ACU_OK)
        return device;
    print_message("skipped: %s\n", acu_last_error()->message);
    test_close(device);
    skip();
    return NULL;
}

static acu_model *load(acu_device *device, acu_provider provider)
{
    acu_model *model = NULL;
    acu_model_options o = {.size = sizeof o, .path = ACUDA_SOURCE_DIR "/examples/data/digits.onnx",
                           .provider = provider};
    assert_works(acu_model_load(device, &o, &model));
    return model;
}

/* The device has no GPU, or this onnxruntime no provider for one: both are the CPU's then. */
static acu_model *load_for(acu_device *device)
{
    acu_model *model = load(device, ACU_PROVIDER_ANY);
    print_message("by %s\n", acu_model_provider(model) == ACU_PROVIDER_CUDA ? "CUDA" : "the CPU");
    if (acu_model_provider(model) == ACU_PROVIDER_CUDA)
        assert_true(test_on_gpu());
    return model;
}

static void end(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

static acu_op *images(int batch, int seed)
{
    float x[MOST * PIXELS];
    test_random random = {.state = (uint64_t)seed};
    for (int i = 0; i < batch * PIXELS; i++)
        x[i] = (float)(test_next(&random) % 17) / 16;
    return acu_const(ACU_F32, ACU_SHAPE(batch, 1, 8, 8), x);
}

static void read_floats(acu_tensor *t, float *to)
{
    assert_works(acu_read_sync(t, to, acu_tensor_bytes(t)));
    acu_tensor_release(t);
}

static void near_to(const float *have, const float *want, int batch)
{
    for (int i = 0; i < batch * CLASSES; i++)
        if (!(fabsf(have[i] - want[i]) <= 2e-3F * (1 + fabsf(want[i]))))
            fail_msg("batch of %d: number %d is %.9g, not %.9g", batch, i, (double)have[i],
                     (double)want[i]);
}

/* Of other batches one after the other; on what was just made, of strides, into a given tensor. */
static void as_on_the_cpu(void **state)
{
    (void)state;
    static const int batches[] = {1, 7, MOST, 1, 3};
    float have[MOST * CLASSES], want[MOST * CLASSES];
    acu_device *device = open_it();
    acu_model *model = load_for(device), *cpu = load(device, ACU_PROVIDER_CPU);
    acu_tensor *y, *out;
    assert_int_equal(acu_model_provider(cpu), ACU_PROVIDER_CPU);
    for (int i = 0; i < 5; i++) {
        int n = batches[i];
        assert_works(acu_sync(device, acu_infer(cpu, images(n, i)), &y));
        read_floats(y, want);
        acu_op *twice = acu_mul(acu_mul(images(n, i), 4.0), 0.25);
        assert_works(acu_sync(device, acu_neg(acu_infer(model, twice)), &y));
        read_floats(y, have);
        for (int k = 0; k < n * CLASSES; k++)
            have[k] = -have[k];
        near_to(have, want, n);
        acu_op *turned = acu_transpose(acu_transpose(images(n, i), 2, 3), 2, 3);
        assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(n, CLASSES)), &out));
        assert_works(acu_sync(device, acu_into(out, acu_infer(model, turned)), NULL));
        read_floats(out, have);
        near_to(have, want, n);
        assert_works(acu_sync(device, acu_infer(model, acu_to_host(images(n, i))), &y));
        read_floats(y, have);
        near_to(have, want, n);
    }
    acu_model_release(model);
    acu_model_release(cpu);
    end(device);
}

/* Many runs at once of two sessions; inputs and outputs change places behind them. */
static void many_at_once(void **state)
{
    (void)state;
    enum { RUNS = 64, KINDS = 4 };
    static float want[KINDS][MOST * CLASSES];
    float have[MOST * CLASSES];
    acu_device *device = open_it();
    acu_model *model[2] = {load_for(device), load(device, ACU_PROVIDER_ANY)};
    acu_tensor *x[KINDS], *y;
    acu_future *future[RUNS];
    for (int k = 0; k < KINDS; k++) {
        assert_works(acu_sync(device, images(1 + 5 * k, k), &x[k]));
        assert_works(acu_sync(device, acu_infer(model[0], acu_value(x[k])), &y));
        read_floats(y, want[k]);
    }
    for (int i = 0; i < RUNS; i++) {
        int k = i % KINDS;
        future[i] = test_submit(device, acu_infer(model[i % 2], acu_value(x[k])));
        if (i >= RUNS - KINDS) /* the run above has read it */
            assert_works(acu_submit(device, acu_fill(x[k], acu_f32(0)), NULL, NULL));
    }
    for (int i = 0; i < RUNS; i++) {
        assert_works(acu_future_wait(future[i], ACU_FOREVER));
        read_floats(acu_tensor_retain(acu_future_tensor(future[i], 0)), have);
        near_to(have, want[i % KINDS], 1 + 5 * (i % KINDS));
        acu_future_release(future[i]);
    }
    for (int k = 0; k < KINDS; k++)
        acu_tensor_release(x[k]);
    acu_model_release(model[0]);
    acu_model_release(model[1]);
    end(device);
}

static void in_its_words(void **state)
{
    (void)state;
    acu_device *device = open_it();
    acu_model *model = NULL;
    acu_model_options o = {.size = sizeof o, .data = "no model", .bytes = 8};
    assert_fails(acu_model_load(device, &o, &model), ACU_ERR_INVALID, "INVALID_PROTOBUF (7)");
    o = (acu_model_options){.size = sizeof o, .path = ACUDA_SOURCE_DIR "/no.onnx"};
    assert_fails(acu_model_load(device, &o, &model), ACU_ERR_NOT_FOUND, "no.onnx");
    model = load_for(device);
    assert_fails(acu_sync(device, acu_infer(model, acu_zeros(ACU_F32, ACU_SHAPE(2, 1, 8, 9))),
                          NULL),
                 ACU_ERR_SHAPE, "(\"images\") is f32 [2, 1, 8, 9], and the model takes f32 [batch");
    assert_works(acu_sync(device, acu_infer(model, images(2, 1)), NULL));
    acu_model_release(model);
    end(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_on_the_cpu),
                                       cmocka_unit_test(many_at_once),
                                       cmocka_unit_test(in_its_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
