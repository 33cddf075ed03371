/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Taking lists, and structs with addresses in them, from the program: both become a few bytes and
 * the places in them where addresses go. */
#include "op/inside.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"

#include <string.h>

static acui_inside *inside_new(const void *memory, size_t bytes, size_t count)
{
    size_t fields = count * sizeof(acu_field);
    acui_inside *inside = acui_alloc(sizeof *inside + fields + bytes);
    if (!inside)
        return NULL;
    inside->memory = (char *)inside->fields + fields;
    inside->bytes = (uint32_t)bytes;
    inside->count = 0; /* none is ours yet */
    memcpy((char *)inside->fields + fields, memory, bytes);
    return inside;
}

static void add(acui_inside *inside, size_t offset, acu_tensor *tensor, acu_access access)
{
    inside->fields[inside->count++] = (acu_field){offset, acu_tensor_retain(tensor), access};
}

static acu_status keep_list(acu_arg *arg, size_t index)
{
    acu_tensor *const *from = arg->u.memory;
    uint64_t count = arg->bytes;
    if (!acui_arg_has_access(arg))
        return acui_arg_refuse_access(arg, index);
    if (!from || count == 0 || count > ACUI_LIST_MAX)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "argument %zu: a list must have 1 to %d tensors, not %u, and an address",
                         index, ACUI_LIST_MAX, arg->bytes);
    for (size_t i = 0; i < count; i++)
        ACUI_TRY(acui_object_check(from[i], ACU_OBJECT_TENSOR, "a list of tensors"));
    acui_inside *inside = inside_new(&count, sizeof count, count);
    if (!inside)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for argument %zu", index);
    for (size_t i = 0; i < count; i++)
        add(inside, 8 + 8 * i, from[i], acui_arg_access_of(arg));
    arg->kind = ACU_ARG_LIST;
    arg->bytes = 8 + 8 * (uint32_t)count;
    arg->u.memory = inside;
    return ACU_OK;
}

static inline const acu_field *field_at(const acu_struct *with, size_t i)
{
    size_t stride = with->stride ? with->stride : sizeof(acu_field);
    return (const acu_field *)(const void *)((const char *)with->fields + i * stride);
}

static acu_status check_field(const acu_struct *with, size_t i, size_t index)
{
    const acu_field *field = field_at(with, i);
    if (field->access < ACU_READ || field->access > ACU_UPDATE)
        return acui_fail(ACU_ERR_INVALID,
                         "field %zu of argument %zu: %d is no access (ACU_READ, ACU_WRITE or "
                         "ACU_UPDATE)",
                         i, index, (int)field->access);
    if (field->offset % 8 || field->offset >= with->bytes || with->bytes - field->offset < 8)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "field %zu of argument %zu: a struct of %zu bytes can not hold an address "
                         "at byte %zu; an address takes 8 bytes, at a multiple of 8",
                         i, index, with->bytes, field->offset);
    for (size_t k = 0; k < i; k++)
        if (field_at(with, k)->offset == field->offset)
            return acui_fail(ACU_ERR_ARGUMENTS,
                             "fields %zu and %zu of argument %zu are in one place, %zu", k, i,
                             index, field->offset);
    return acui_object_check(field->tensor, ACU_OBJECT_TENSOR, "a field of a struct");
}

static acu_status check_struct(const acu_struct *with, size_t index)
{
    if (!with->memory || with->bytes == 0 || with->bytes > ACUI_STRUCT_MAX)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "argument %zu: a struct must have 1 to %d bytes, not %zu, and an address",
                         index, ACUI_STRUCT_MAX, with->bytes);
    if (with->count > ACUI_STRUCT_MAX / 8 || (with->count && !with->fields))
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "argument %zu: a struct has up to %d fields, not %zu, and their list an "
                         "address",
                         index, ACUI_STRUCT_MAX / 8, with->count);
    if (with->stride && (with->stride < sizeof(acu_field) || with->stride % _Alignof(acu_field)))
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "argument %zu: a stride of %zu bytes is none of acu_field's, which has "
                         "%zu",
                         index, with->stride, sizeof(acu_field));
    for (size_t i = 0; i < with->count; i++)
        ACUI_TRY(check_field(with, i, index));
    return ACU_OK;
}

static acu_status keep_fields(acu_arg *arg, size_t index)
{
    acu_struct with;
    ACUI_TRY(acui_options_read(&with, sizeof with, arg->u.memory, "acu_arg_fields"));
    ACUI_TRY(check_struct(&with, index));
    acui_inside *inside = inside_new(with.memory, with.bytes, with.count);
    if (!inside)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for argument %zu", index);
    int access = 0;
    for (size_t i = 0; i < with.count; i++) {
        const acu_field *field = field_at(&with, i);
        add(inside, field->offset, field->tensor, field->access);
        access |= (int)field->access;
    }
    arg->kind = ACU_ARG_FIELDS;
    arg->access = (int8_t)access;
    arg->bytes = (uint32_t)with.bytes;
    arg->u.memory = inside;
    return ACU_OK;
}

acu_status acui_inside_keep(const acu_op *op, acu_arg *arg, size_t index)
{
    bool list = arg->kind == ACU_ARG_LIST;
    arg->kind = ACU_ARG_NONE; /* nothing is ours before it succeeds */
    if (op->class != &acui_class_LAUNCH)
        return acui_fail(ACU_ERR_ARGUMENTS, "argument %zu: %s is for launches", index,
                         list ? "a list of tensors" : "a struct with tensors in it");
    return list ? keep_list(arg, index) : keep_fields(arg, index);
}

void acui_inside_release(const acu_arg *arg)
{
    const acui_inside *inside = acui_inside_of(arg);
    for (size_t k = 0; inside && k < inside->count; k++)
        acu_tensor_release(inside->fields[k].tensor);
    acui_free((void *)(uintptr_t)inside);
}
