/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Flags: the number of a stream's last complete signal, written by the device itself into host
 * memory (cuStreamWriteValue64), where reading it costs nothing. For threads that are going to
 * poll: asking the driver takes a microsecond each time, and one more until the answer is yes.
 */
#include "base/alloc.h"
#include "device/device.h"

#include <sys/mman.h>

enum {
    PAGE = 4096,
    FLAGS = 128 /* a cache line each would only help if many threads polled at once */
};

/* Creates host memory that the device writes; false: impossible here, and not tried again. The
 * memory is acuda's own, so that threads that still look at it when the context is reset find it
 * there. */
static bool make_flags(acu_device *device)
{
    CUdeviceptr address = 0;
    int able = 0;
    const acu_driver_table *cu = device->cu;
    if (cu->DeviceGetAttribute(&able, ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                               device->raw) != ACU_CUDA_SUCCESS ||
        !able)
        return false;
    void *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    if (cu->MemHostRegister(memory, PAGE, ACU_CU_MEMHOSTREGISTER_DEVICEMAP) != ACU_CUDA_SUCCESS) {
        munmap(memory, PAGE);
        return false;
    }
    if (cu->MemHostGetDevicePointer(&address, memory, 0) != ACU_CUDA_SUCCESS) {
        if (cu->MemHostUnregister(memory) == ACU_CUDA_SUCCESS)
            munmap(memory, PAGE);
        return false;
    }
    device->flags = memory;
    device->flags_at = address;
    return true;
}

/* A flag of its own for the stream. The device is entered, and the stream's lock held. */
static bool get_flag(acu_stream *stream)
{
    acu_device *device = stream->device;
    pthread_mutex_lock(&device->lock);
    if (!device->flags && !device->no_flags)
        device->no_flags = !make_flags(device);
    if (device->flags && device->flag_count < FLAGS) {
        stream->flag_at = device->flags_at + device->flag_count * sizeof(uint64_t);
        _Atomic(uint64_t) *flag = &device->flags[device->flag_count++];
        atomic_store_explicit(flag, 0, memory_order_relaxed);
        atomic_store_explicit(&stream->flag, flag, memory_order_release);
    } else {
        stream->no_flag = true;
    }
    pthread_mutex_unlock(&device->lock);
    return atomic_load_explicit(&stream->flag, memory_order_relaxed) != NULL;
}

bool acui_stream_tell(acu_stream *stream, uint64_t number)
{
    if (!stream->pooled || stream->no_flag) /* others may end while the device still writes */
        return false;
    if (!atomic_load_explicit(&stream->flag, memory_order_relaxed) && !get_flag(stream))
        return false;
    if (stream->device->cu->StreamWriteValue64(stream->raw, stream->flag_at, number,
                                               ACU_CU_STREAM_WRITE_VALUE_DEFAULT) !=
        ACU_CUDA_SUCCESS) {
        stream->no_flag = true;
        return false;
    }
    stream->flagged = number;
    return true;
}

/* Whether acuda may put work on the stream now. Whoever got the stream's handle from the program
 * may be capturing it, even in a foreign call, which holds `issue`. Nobody gets the handle while
 * the stream's lock is held. The device is entered. */
static bool is_ours(const acu_stream *stream, bool issue_held)
{
    bool captured = false;
    return !atomic_load_explicit(&stream->shown, memory_order_relaxed) ||
           (issue_held && acui_stream_ask_captured(stream, &captured) == ACU_CUDA_SUCCESS &&
            !captured);
}

bool acui_stream_prompt(acu_stream *stream, uint64_t number)
{
    acui_entered entered;
    bool issue_held = acui_lock_try(&stream->issue);
    acui_lock_take(&stream->lock);
    bool busy = stream->signal_count > 0, last = number == stream->issued;
    if (busy && last && stream->flagged < number && acui_enter_to_free(stream->device, &entered)) {
        if (is_ours(stream, issue_held))
            acui_stream_tell(stream, number);
        acui_leave(&entered);
    }
    bool flagged = busy && stream->flagged >= number;
    acui_lock_give(&stream->lock);
    if (issue_held)
        acui_lock_give(&stream->issue);
    return flagged;
}

bool acui_stream_flag_passed(const acu_stream *stream)
{
    const _Atomic(uint64_t) *flag = atomic_load_explicit(&stream->flag, memory_order_acquire);
    /* Acquire: what the work wrote to host memory before is visible. */
    return atomic_load_explicit(flag, memory_order_acquire) >
           atomic_load_explicit(&stream->done, memory_order_relaxed);
}

void acui_stream_await_flag(acu_stream *stream)
{
    const _Atomic(uint64_t) *flag = atomic_load_explicit(&stream->flag, memory_order_acquire);
    if (flag && atomic_load_explicit(flag, memory_order_acquire) < stream->flagged)
        stream->device->cu->StreamSynchronize(stream->raw);
}

void acui_flags_free(acu_device *device, bool works)
{
    /* The work of a lost device may still write there: then the page stays. */
    if (device->flags && works && device->cu->MemHostUnregister(device->flags) == ACU_CUDA_SUCCESS)
        munmap(device->flags, PAGE);
    device->flags = NULL;
}
