/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Networks in ONNX's format, run by onnxruntime as operations among others:
 *
 *   acu_model_load(device, &(acu_model_options){.size = sizeof(acu_model_options),
 *                                               .path = "classifier.onnx"}, &model);
 *   acu_op *scores = acu_softmax(acu_infer(model, acu_image_to_tensor(...)), 1);
 *
 * acuda does not contain onnxruntime, and needs none to build. It is found at run time as vendor.h
 * says (pip install onnxruntime, or onnxruntime-gpu; ACUDA_ONNXRUNTIME names a file); version 1.11
 * or later. Who uses it accepts its licence (MIT), and those of what its providers load.
 *
 * Where a model runs is its provider. By the CPU's, inputs in device memory are copied to pinned
 * memory, the network is run on a thread of acuda's (up to four, which also read and write files;
 * besides those that onnxruntime itself starts), and its outputs are copied to the device; this
 * works on the software device too. By CUDA's, the network is enqueued on a stream of the model's
 * own, behind whatever makes its inputs, reads and writes device memory in place, and nothing waits
 * on the host; the thread that issues the work makes onnxruntime's calls, which takes as long as
 * starting all of the network's kernels does, and runs of one model come one after the other.
 */
#ifndef ACUDA_INFER_H
#define ACUDA_INFER_H

#include <acuda/op.h>

ACU_BEGIN

typedef struct acu_model acu_model;

typedef enum acu_provider {
    ACU_PROVIDER_ANY,  /* CUDA's on a GPU, if this onnxruntime has it; else the CPU's */
    ACU_PROVIDER_CPU,
    ACU_PROVIDER_CUDA
} acu_provider;

typedef struct acu_model_options {
    size_t size;      /* sizeof(acu_model_options) */
    const char *path; /* the model's file; or NULL, and: */
    const void *data; /* the same in memory, which is needed during the call only */
    size_t bytes;
    acu_provider provider;
    int threads; /* the most that onnxruntime uses to run it on the CPU; 0: as many as it likes */
} acu_model_options;

/*
 * Read the model and make onnxruntime's session for it. Blocks, for as long as that takes, which
 * may be seconds. Driver, for CUDA's provider: cuStreamCreate, cuEventCreate, and what onnxruntime
 * calls. Errors: INVALID (no model, or two; no acu_provider), NOT_FOUND (no onnxruntime, no such
 * file), NOT_SUPPORTED (it is older than 1.11; it has no such provider; a value of the model is no
 * tensor, or has more than ACU_MAX_RANK dimensions, or elements of a type that acuda does not
 * have), IN_CALLBACK, NO_MEMORY; what onnxruntime answers, in its words: INVALID, NOT_FOUND,
 * NOT_SUPPORTED, or DRIVER for all else.
 */
ACU_API acu_status acu_model_load(acu_device *device, const acu_model_options *options,
                                  acu_model **model);
ACU_API acu_model *acu_model_retain(acu_model *model);
/* The session is released once no operation needs it any more. */
ACU_API void acu_model_release(acu_model *model);

/* CPU or CUDA. */
ACU_API acu_provider acu_model_provider(const acu_model *model);

/* An input or output of the model. Its texts live as long as the model. */
typedef struct acu_model_value {
    size_t size; /* sizeof(acu_model_value), set by the caller */
    const char *name;
    acu_dtype dtype;
    acu_shape shape; /* an extent of 0 may be any; a number, without dimensions, is [1] */
    const char *symbols[ACU_MAX_RANK]; /* of such an extent: its name, or "" */
} acu_model_value;
ACU_API size_t acu_model_inputs(const acu_model *model);
ACU_API size_t acu_model_outputs(const acu_model *model);
/* Errors: INVALID (there is none of this index), BAD_HANDLE. */
ACU_API acu_status acu_model_input(const acu_model *model, size_t index, acu_model_value *value);
ACU_API acu_status acu_model_output(const acu_model *model, size_t index, acu_model_value *value);

/*
 * Run the model on tensors for all its inputs, in its order, of its dtypes and shapes; on any
 * memory and of any strides (what is not dense is copied first). Extents with one name are equal.
 * Yields all outputs, new tensors in device memory, in the model's order; one output can also be
 * put where acu_into says. The extents of outputs follow from the names of those of the inputs. If
 * an output has others, acu_infer_as says its shape: `shapes` has one for each output, of rank 0
 * where the model's own serves. It is copied.
 *
 * Errors: ARGUMENTS (the number of inputs), DTYPE, SHAPE (an input, or an output's shape, is none
 * that the model takes; the shape of an output is not known), DEVICE (a tensor of another device),
 * INVALID (NULL), BAD_HANDLE, NO_MEMORY; of the future: what onnxruntime answers, as above. None
 * blocks. Driver: those of copies (acu_copy); for CUDA's provider cuEventRecord, cuStreamWaitEvent,
 * and what onnxruntime calls. Not in explicit graphs.
 */
#define acu_infer(model, ...)                                                                      \
    acu_op_infer((model), NULL, ACUI_LIST(acu_op *, __VA_ARGS__), ACU_SITE)
#define acu_infer_as(model, shapes, ...)                                                           \
    acu_op_infer((model), (shapes), ACUI_LIST(acu_op *, __VA_ARGS__), ACU_SITE)
ACU_API acu_op *acu_op_infer(acu_model *model, const acu_shape *shapes, acu_op *const *inputs,
                             size_t count, acu_site site);

ACU_END

#ifdef __cplusplus /* for the macros above: in C++ a list is one argument */
static inline acu_op *acu_op_infer(acu_model *model, const acu_shape *shapes,
                                   acui_list<acu_op *> inputs, acu_site site)
{
    return acu_op_infer(model, shapes, inputs.items, inputs.count, site);
}
#endif
#endif
