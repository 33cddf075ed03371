/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Imported memory, and buffers over ranges of it. */
#include "memory/external.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "memory/memory.h"

/* ---- making ---- */

static acu_status external_new(acu_device *device, acu_external_kind kind, size_t bytes,
                               acu_external **external)
{
    acu_external *e = acui_object_new(ACU_OBJECT_EXTERNAL, sizeof *e);
    if (!e)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for external memory");
    pthread_mutex_init(&e->lock, NULL);
    e->device = acu_device_retain(device);
    e->kind = kind;
    e->bytes = bytes;
    *external = e;
    return ACU_OK;
}

static void external_free(acu_external *e)
{
    acu_device *device = e->device;
    acui_external_unmap(e);
    pthread_mutex_destroy(&e->lock);
    acui_object_free(e);
    acu_device_release(device);
}

/* Imports, or allocates if there is nothing to import. */
static acu_status make(acu_device *device, const acu_external_options *options, size_t bytes,
                       acu_external **external)
{
    acu_external_kind kind = options ? options->kind : ACU_EXTERNAL_CUDA;
    acu_external *e = NULL;
    acui_entered entered;
    ACUI_TRY(acui_external_supported(device, kind));
    ACUI_TRY(external_new(device, kind, bytes, &e));
    acu_status st = acui_enter(device, &entered);
    if (st == ACU_OK) {
        e->read_only = options && options->read_only;
        e->imported = options != NULL;
        st = options ? acui_external_take(e, options) : acui_external_create(e);
        acui_leave(&entered);
    }
    if (st == ACU_OK) {
        *external = e;
        return ACU_OK;
    }
    acu_error record = *acui_error();
    external_free(e);
    return acui_error_restore(&record);
}

acu_status acu_external_import(acu_device *device, const acu_external_options *options,
                               acu_external **external)
{
    ACUI_CHECK(device, DEVICE);
    acu_external_options known;
    ACUI_TRY(acui_options_read(&known, sizeof known, options, __func__));
    if (!external)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_external_import: nowhere to put the external memory");
    if (!options || known.bytes == 0)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_external_import: memory of 0 bytes: the options must "
                         "say how many there are");
    if ((unsigned)known.kind > ACU_EXTERNAL_DMA_BUF)
        return acui_fail(ACU_ERR_INVALID, "acu_external_import: there is no kind %d",
                         (int)known.kind);
    ACUI_TRY(acui_device_check(device));
    return make(device, &known, known.bytes, external);
}

/* ---- buffers ---- */

static void drop(void *given)
{
    acui_external_range *range = given;
    acu_external *e = range->external;
    pthread_mutex_lock(&e->lock);
    for (acui_external_range **link = &e->ranges; *link; link = &(*link)->next)
        if (*link == range) {
            *link = range->next;
            break;
        }
    pthread_mutex_unlock(&e->lock);
    acui_free(range);
    acu_external_release(e);
}

/* Enter the range in the list. If a live buffer overlaps it, *other becomes that buffer, retained,
 * instead: ACU_OK if it has exactly the same bytes, else BUSY. The lock is held. */
static acu_status enter(acui_external_range *range, acu_buffer **other)
{
    acu_external *e = range->external;
    for (const acui_external_range *r = e->ranges; r; r = r->next) {
        if (range->offset >= r->offset + r->bytes || r->offset >= range->offset + range->bytes ||
            !acui_object_try_retain(r->buffer))
            continue;
        *other = r->buffer;
        return range->offset == r->offset && range->bytes == r->bytes ? ACU_OK : ACU_ERR_BUSY;
    }
    range->next = e->ranges;
    e->ranges = range;
    return ACU_OK;
}

/* A buffer for a new range, which takes over a reference to the external memory. */
static acu_status range_new(acu_external *e, size_t offset, size_t bytes,
                            acui_external_range **range)
{
    acui_external_range *r = ACUI_NEW(acui_external_range);
    if (!r) {
        acu_external_release(e);
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a buffer of external memory");
    }
    *r = (acui_external_range){.external = e, .offset = offset, .bytes = bytes};
    /* On failure `drop` has been called. */
    ACUI_TRY(acu_buffer_wrap_device(e->device, e->address + offset, bytes,
                                    (acu_user){.data = r, .release = drop}, &r->buffer));
    r->buffer->read_only = e->read_only;
    acui_object_list(r->buffer);
    *range = r;
    return ACU_OK;
}

acu_status acu_external_buffer(acu_external *external, size_t offset, size_t bytes,
                               acu_buffer **buffer)
{
    ACUI_CHECK(external, EXTERNAL);
    if (!buffer)
        return acui_fail(ACU_ERR_INVALID, "acu_external_buffer: nowhere to put the buffer");
    if (offset >= external->bytes || bytes > external->bytes - offset)
        return acui_fail(
            ACU_ERR_INVALID,
            "acu_external_buffer: %zu bytes from %zu on are not within the %zu bytes of "
            "the memory",
            bytes, offset, external->bytes);
    acui_external_range *range = NULL;
    acu_buffer *other = NULL;
    ACUI_TRY(range_new(acu_external_retain(external), offset,
                       bytes ? bytes : external->bytes - offset, &range));
    pthread_mutex_lock(&external->lock);
    acu_status st = enter(range, &other);
    pthread_mutex_unlock(&external->lock);
    acu_buffer *made = range->buffer;
    if (st == ACU_ERR_BUSY)
        acui_fail(ACU_ERR_BUSY,
                  "acu_external_buffer: %zu bytes from %zu on overlap another buffer of "
                  "this memory: make tensors, and views, over one that has both",
                  range->bytes, offset);
    if (other)
        acu_buffer_release(made);
    if (st == ACU_OK)
        *buffer = other ? other : made;
    else
        acu_buffer_release(other);
    return st;
}

/* ---- memory for others ---- */

acu_status acu_buffer_create_exportable(acu_device *device, size_t bytes, acu_buffer **buffer)
{
    ACUI_CHECK(device, DEVICE);
    if (!buffer || bytes == 0)
        return acui_fail(ACU_ERR_INVALID, "acu_buffer_create_exportable: %s",
                         buffer ? "a buffer of 0 bytes" : "nowhere to put the buffer");
    ACUI_TRY(acui_device_check(device));
    acu_external *e = NULL;
    ACUI_TRY(make(device, NULL, bytes, &e));
    acu_status st = acu_external_buffer(e, 0, 0, buffer);
    acu_external_release(e);
    return st;
}

/* The memory behind the buffer; NULL: none that can be exported, with the reason in *why. */
static acu_external *exportable(const acu_buffer *buffer, const char **why)
{
    *why = "the buffer was not made by acu_buffer_create_exportable";
    if (buffer->kind != ACU_MEMORY_FOREIGN || buffer->user.release != drop)
        return NULL;
    acu_external *e = ((acui_external_range *)buffer->user.data)->external;
    *why =
        "the buffer's memory was imported: hand on a duplicate of the descriptor that it came by";
    return e->imported ? NULL : e;
}

acu_status acu_buffer_export(acu_buffer *buffer, int *fd)
{
    ACUI_CHECK(buffer, BUFFER);
    const char *why;
    acu_external *e = exportable(buffer, &why);
    if (!fd || !e)
        return acui_fail(ACU_ERR_INVALID, "acu_buffer_export: %s",
                         e ? "nowhere to put the descriptor" : why);
    int made = -1;
    acui_entered entered;
    ACUI_TRY(acui_enter(e->device, &entered));
    acu_status st = ACUI_DEV(e->device, MemExportToShareableHandle, &made, e->handle,
                             ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    acui_leave(&entered);
    if (st == ACU_OK)
        *fd = made;
    return st;
}

/* ---- life ---- */

size_t acu_external_bytes(const acu_external *external)
{
    return acui_object_is(external, ACU_OBJECT_EXTERNAL) ? external->bytes : 0;
}

acu_device *acu_external_device(const acu_external *external)
{
    return acui_object_is(external, ACU_OBJECT_EXTERNAL) ? external->device : NULL;
}

acu_external *acu_external_retain(acu_external *external)
{
    if (acui_object_is(external, ACU_OBJECT_EXTERNAL))
        acui_object_retain(external);
    return external;
}

void acu_external_release(acu_external *external)
{
    if (acui_object_is(external, ACU_OBJECT_EXTERNAL) && acui_object_drop(external))
        external_free(external);
}
