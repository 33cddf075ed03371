/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measuring engines against each other, on zeros, in memory of their own. */
#include "dnn/plan.h"

#include "base/error.h"

enum { RUNS = 3, BUDGET_MS = 200 }; /* of each engine; of all together */

typedef struct bench {
    acu_device *device;
    CUstream stream;
    CUevent begin, end;
    CUdeviceptr memory; /* for the values, each at a multiple of 256 bytes, and then the engine */
    void *at[ACUI_DNN_PLACES];
    void *scratch;
    float spent; /* milliseconds, so far */
} bench;

static size_t bytes_of(const acui_dnn_key *key, int place)
{
    const acui_dnn_tensor *t = &key->at[place];
    int64_t last = 0;
    for (int i = 0; i < key->rank; i++)
        last += (t->dim[i] - 1) * t->stride[i];
    if (t->dim[0] == 0)
        return 0;
    return ((size_t)(last + 1) * (key->type == ACUI_CUDNN_F32 ? 4 : 2) + 255) & ~(size_t)255;
}

static bool begin(bench *b, const acui_dnn_key *key, size_t scratch)
{
    const acu_driver_table *cu = b->device->cu;
    size_t bytes = 0, from[ACUI_DNN_TENSORS];
    for (int i = 0; i < ACUI_DNN_TENSORS; i++) {
        from[i] = bytes;
        bytes += bytes_of(key, i);
    }
    if (cu->StreamCreate(&b->stream, ACU_CU_STREAM_NON_BLOCKING) != ACU_CUDA_SUCCESS ||
        cu->EventCreate(&b->begin, 0) != ACU_CUDA_SUCCESS ||
        cu->EventCreate(&b->end, 0) != ACU_CUDA_SUCCESS || !b->device->pool ||
        cu->MemAllocFromPoolAsync(&b->memory, bytes + scratch + 1, b->device->pool, b->stream) !=
            ACU_CUDA_SUCCESS ||
        cu->MemsetD8Async(b->memory, 0, bytes + scratch + 1, b->stream) != ACU_CUDA_SUCCESS)
        return false;
    for (int i = 0; i < ACUI_DNN_TENSORS; i++)
        b->at[i] = bytes_of(key, i) ? (void *)(uintptr_t)(b->memory + from[i]) : NULL;
    b->scratch = (void *)(uintptr_t)(b->memory + bytes);
    return true;
}

static void end(bench *b)
{
    const acu_driver_table *cu = b->device->cu;
    if (b->memory)
        cu->MemFreeAsync(b->memory, b->stream);
    if (b->begin)
        cu->EventDestroy(b->begin);
    if (b->end)
        cu->EventDestroy(b->end);
    if (b->stream)
        cu->StreamDestroy(b->stream);
}

/* Milliseconds of the fastest of a few runs, of which one is enough for what takes twice as long as
 * another; below 0: it failed. */
static float time_of(bench *b, const acui_dnn_plan *plan, const acui_dnn_engine *engine,
                     float other)
{
    const acu_driver_table *cu = b->device->cu;
    float best = -1, ms;
    for (int i = 0; i <= RUNS; i++) { /* the first one loads it */
        if (cu->EventRecord(b->begin, b->stream) != ACU_CUDA_SUCCESS ||
            acui_dnn_execute(plan, engine, b->at, b->scratch) != ACU_OK ||
            cu->EventRecord(b->end, b->stream) != ACU_CUDA_SUCCESS ||
            cu->EventSynchronize(b->end) != ACU_CUDA_SUCCESS ||
            cu->EventElapsedTime(&ms, b->begin, b->end) != ACU_CUDA_SUCCESS)
            return -1;
        if (i == 0)
            continue;
        b->spent += ms;
        if (best < 0 || ms < best)
            best = ms;
        if (other >= 0 && ms > 2 * other)
            break;
    }
    return best;
}

int acui_dnn_fastest(const acui_dnn_plan *plan, const acui_dnn_engine *engines, int count,
                     acu_device *device, const acui_dnn_key *key)
{
    bench b = {.device = device};
    size_t scratch = 0;
    int chosen = 0;
    float best = -1;
    for (int i = 0; i < count; i++)
        scratch = engines[i].bytes > scratch ? engines[i].bytes : scratch;
    bool able = begin(&b, key, scratch) && acui_cudnn.set_stream(plan->handle, b.stream) == 0;
    for (int i = 0; able && i < count && b.spent < BUDGET_MS; i++) {
        float ms = time_of(&b, plan, &engines[i], best);
        if (ms >= 0 && (best < 0 || ms < best)) {
            best = ms;
            chosen = i;
        }
    }
    acui_cudnn.set_stream(plan->handle, NULL);
    end(&b);
    return chosen;
}
