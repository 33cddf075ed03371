/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A network from a file in ONNX's format reads handwritten digits: onnxruntime is one operation
 * among acuda's own, which find the likeliest digit on the device and count the right ones. Without
 * onnxruntime (pip install onnxruntime) it says so, and is of no use.
 *
 *     onnx [digits.csv [digits.onnx]]
 */
#include "example.h"
#include "mlp_data.h"

#include <acuda/infer.h>

#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static acu_model *load_model(acu_device *device, const char *path)
{
    const char *tries[] = {path, "examples/data/digits.onnx", EXAMPLES_DATA "/digits.onnx"};
    acu_model_options options = {.size = sizeof options};
    for (int i = 0; i < 3 && !options.path; i++)
        options.path = tries[i] && access(tries[i], R_OK) == 0 ? tries[i] : NULL;
    if (!options.path) {
        fprintf(stderr, "digits.onnx was not found; give its path as second argument\n");
        exit(1);
    }
    acu_model *model = NULL;
    acu_status status = acu_vendor_load(device, ACU_VENDOR_ONNXRUNTIME);
    if (status == ACU_ERR_NOT_FOUND) {
        printf("%s\n", acu_last_error()->message);
        exit(SKIPPED);
    }
    check(status);
    check(acu_model_load(device, &options, &model));
    return model;
}

static void put_digits(acu_device *device, const digits *data, acu_tensor **images,
                       acu_tensor **labels)
{
    acu_tensor *x, *y;
    check(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(data->count, 1, 8, 8), &x));
    check(acu_tensor_alloc_pinned(device, ACU_I64, ACU_SHAPE(data->count), &y));
    for (int i = 0; i < data->count; i++) {
        memcpy((float *)acu_tensor_host(x) + i * DIGIT_PIXELS, data->list[i].pixel,
               sizeof data->list[i].pixel);
        ((int64_t *)acu_tensor_host(y))[i] = data->list[i].label;
    }
    check(acu_sync(device, acu_to_device(device, x), images));
    check(acu_sync(device, acu_to_device(device, y), labels));
    acu_tensor_release(x);
    acu_tensor_release(y);
}

int main(int argc, char **argv)
{
    acu_device *device = open_device();
    acu_model *model = load_model(device, argc > 2 ? argv[2] : NULL);
    digits rest, held_out;
    acu_tensor *images, *labels, *count;
    int64_t right = 0;
    read_digits(argc > 1 ? argv[1] : NULL, &rest, &held_out);
    put_digits(device, &held_out, &images, &labels);

    acu_op *logits = acu_infer(model, acu_value(images));
    acu_op *read = acu_argmax(logits, ACU_DIMS(1));
    acu_op *same = acu_convert(acu_eq(read, labels), ACU_I64);
    check(acu_sync(device, acu_sum(same, ACU_ALL), &count));
    check(acu_read_sync(count, &right, sizeof right));

    acu_model_value first = {.size = sizeof first};
    check(acu_model_input(model, 0, &first));
    printf("%s, by onnxruntime on %s: %lld of %d digits read correctly\n", first.name,
           acu_model_provider(model) == ACU_PROVIDER_CUDA ? "the GPU" : "the CPU",
           (long long)right, held_out.count);
    acu_tensor_release(images);
    acu_tensor_release(labels);
    acu_tensor_release(count);
    acu_model_release(model);
    free_digits(&rest, &held_out);
    int enough = right * 100 >= (int64_t)held_out.count * 98;
    check(acu_close(device));
    return enough ? 0 : 1;
}
