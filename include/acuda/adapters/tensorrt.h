/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TensorRT's engines as operations among others, as infer.h has networks by onnxruntime:
 *
 *   acu_trt_load(device, &(acu_trt_options){.size = sizeof(acu_trt_options),
 *                                           .path = "classifier.engine"}, &engine);
 *   acu_op *scores = acu_softmax(acu_trt_infer(engine, acu_image_to_tensor(...)), 1);
 *
 * TensorRT's interface is C++, of which a library that is loaded at run time can not rely. So this
 * is compiled into the program, against its own TensorRT, version 8.5 or later: one C++ file
 * (C++17) says
 *
 *   #include <acuda/adapters/tensorrt.hpp>
 *
 * and is linked with libnvinfer; everything else includes this header, which is C. Who uses
 * TensorRT accepts NVIDIA's licence for it. Engines are made elsewhere (trtexec, or TensorRT's
 * builder), for the kind of GPU that they run on.
 *
 * A run is enqueued behind whatever makes its inputs, reads and writes device memory in place, and
 * nothing waits on the host; the thread that issues the work makes TensorRT's calls. An engine has
 * a few execution contexts, each with memory of its own for what is between its layers; runs take
 * turns on them, and as many run at the same time as there are contexts.
 */
#ifndef ACUDA_ADAPTERS_TENSORRT_H
#define ACUDA_ADAPTERS_TENSORRT_H

#include <acuda/infer.h>

ACU_BEGIN

typedef struct acu_trt_engine acu_trt_engine;

typedef struct acu_trt_options {
    size_t size;      /* sizeof(acu_trt_options) */
    const char *path; /* the serialized engine's file; or NULL, and: */
    const void *data; /* the same in memory, which is needed during the call only */
    size_t bytes;
    int contexts;     /* how many runs are on the device at once, at most 16; 0: 2 */
    int profile;      /* the optimization profile that all runs use */
} acu_trt_options;

/*
 * Deserialize the engine and make its contexts. Blocks, which may take seconds. Driver:
 * cuCtxPushCurrent, cuCtxPopCurrent, what acu_tensor_alloc calls, and what TensorRT calls. Errors:
 * INVALID (no engine, or two; no such number of contexts or profile), NOT_FOUND (the file can not
 * be read), NOT_SUPPORTED (an input or output is read from host memory, is no plain tensor of rows,
 * has more than ACU_MAX_RANK dimensions, or elements of a type that acuda does not have),
 * NO_MEMORY, those of acu_tensor_alloc; DRIVER for all that TensorRT refuses, in its words.
 */
acu_status acu_trt_load(acu_device *device, const acu_trt_options *options,
                        acu_trt_engine **engine);
acu_trt_engine *acu_trt_retain(acu_trt_engine *engine);
/* Freed once no operation needs it any more, by the thread that notices that, which may wait for
 * the device meanwhile. Release it before acu_close. NULL is fine. */
void acu_trt_release(acu_trt_engine *engine);

/* Inputs and outputs, in the engine's order. A shape's extent of 0 may be any that the profile
 * allows; acu_model_value.symbols are "". Errors: INVALID (there is none of this index; NULL). */
size_t acu_trt_inputs(const acu_trt_engine *engine);
size_t acu_trt_outputs(const acu_trt_engine *engine);
acu_status acu_trt_input(const acu_trt_engine *engine, size_t index, acu_model_value *value);
acu_status acu_trt_output(const acu_trt_engine *engine, size_t index, acu_model_value *value);

/*
 * Run the engine on tensors for all its inputs, of its dtypes and shapes; on any memory and of any
 * strides (what is not dense device memory at a multiple of 256 bytes is copied first). Yields all
 * outputs, new tensors in device memory, whose shapes TensorRT infers when this is planned; one
 * output can also be put where acu_into says.
 *
 * Errors: ARGUMENTS (the number of inputs), DTYPE, SHAPE (an input is none that the engine's
 * profile takes; the shape of an output depends on numbers), DEVICE, INVALID (NULL), NO_MEMORY; of
 * the future: CALLBACK, with TensorRT's words. None blocks. Not in explicit graphs.
 */
#define acu_trt_infer(engine, ...)                                                                 \
    acu_op_trt_infer((engine), ACUI_LIST(acu_op *, __VA_ARGS__), ACU_SITE)
acu_op *acu_op_trt_infer(acu_trt_engine *engine, acu_op *const *inputs, size_t count,
                         acu_site site);

ACU_END

#ifdef __cplusplus /* for the macro above: in C++ a list is one argument */
static inline acu_op *acu_op_trt_infer(acu_trt_engine *engine, acui_list<acu_op *> inputs,
                                       acu_site site)
{
    return acu_op_trt_infer(engine, inputs.items, inputs.count, site);
}
#endif
#endif
