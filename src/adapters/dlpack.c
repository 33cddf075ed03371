/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * DLPack, what both directions share: element types, streams, and the old struct and the versioned
 * one, each as the other.
 */
#include "adapters/dlpack.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdio.h>

/* ---- element types --------------------------------------------------------------------------- */

/* Everybody else sees tf32 as f32. */
static const acui_dl_type types[ACU_DTYPE_COUNT] = {
    [ACU_BOOL] = {ACUI_DL_BOOL, 8, 1},
    [ACU_U8] = {ACUI_DL_UINT, 8, 1},
    [ACU_U16] = {ACUI_DL_UINT, 16, 1},
    [ACU_U32] = {ACUI_DL_UINT, 32, 1},
    [ACU_U64] = {ACUI_DL_UINT, 64, 1},
    [ACU_I8] = {ACUI_DL_INT, 8, 1},
    [ACU_I16] = {ACUI_DL_INT, 16, 1},
    [ACU_I32] = {ACUI_DL_INT, 32, 1},
    [ACU_I64] = {ACUI_DL_INT, 64, 1},
    [ACU_F16] = {ACUI_DL_FLOAT, 16, 1},
    [ACU_BF16] = {ACUI_DL_BFLOAT, 16, 1},
    [ACU_F32] = {ACUI_DL_FLOAT, 32, 1},
    [ACU_TF32] = {ACUI_DL_FLOAT, 32, 1},
    [ACU_F64] = {ACUI_DL_FLOAT, 64, 1},
    [ACU_F8E4M3FN] = {ACUI_DL_F8E4M3FN, 8, 1},
    [ACU_F8E5M2] = {ACUI_DL_F8E5M2, 8, 1},
    [ACU_F8E8M0FNU] = {ACUI_DL_F8E8M0FNU, 8, 1},
    [ACU_F4E2M1FNX2] = {ACUI_DL_F4E2M1FN, 4, 2},
    [ACU_C64] = {ACUI_DL_COMPLEX, 64, 1},
    [ACU_C128] = {ACUI_DL_COMPLEX, 128, 1},
};
_Static_assert(ACU_DTYPE_COUNT == 21, "each element type has a row above");

acui_dl_type acui_dl_type_of(acu_dtype dtype)
{
    return types[dtype];
}

acu_dtype acui_dl_dtype(const acui_dl_tensor *tensor, uint64_t flags)
{
    if (tensor->dtype.bits < 8 && (flags & ACUI_DL_PADDED))
        return ACU_NO_DTYPE;
    for (int d = ACU_NO_DTYPE + 1; d < ACU_DTYPE_COUNT; d++)
        if (types[d].code == tensor->dtype.code && types[d].bits == tensor->dtype.bits &&
            types[d].lanes == tensor->dtype.lanes)
            return (acu_dtype)d; /* finds f32, which comes before tf32 */
    return ACU_NO_DTYPE;
}

acu_status acui_dl_check(const struct DLManagedTensorVersioned *managed)
{
    if (managed->version.major == ACUI_DL_MAJOR)
        return ACU_OK;
    return acui_fail(ACU_ERR_NOT_SUPPORTED, "a DLPack tensor of version %u.%u; acuda knows %d",
                     managed->version.major, managed->version.minor, ACUI_DL_MAJOR);
}

/* ---- streams --------------------------------------------------------------------------------- */

acu_status acui_dl_stream(acu_device *device, intptr_t number, const char *function,
                          acu_stream **stream)
{
    *stream = NULL;
    if (number == ACU_DLPACK_NO_STREAM)
        return ACU_OK;
    if (number <= 0)
        return acui_fail(ACU_ERR_INVALID,
                         "%s: %lld is no stream for DLPack: 1 is the legacy default one, 2 "
                         "the thread's, -1 none, others are handles",
                         function, (long long)number);
    /* 1 and 2 are the driver's own handles. */
    acu_status status = acu_stream_wrap(device, (CUstream)number, stream);
    if (status == ACU_ERR_DRIVER || status == ACU_ERR_DEVICE) /* the record keeps the call */
        snprintf(acui_error()->message, ACU_ERROR_MESSAGE, "%s: %#llx is no stream of device %d",
                 function, (unsigned long long)number, device->info.ordinal);
    return status;
}

/* ---- one struct as the other ----------------------------------------------------------------- */

static void delete_versioned(struct DLManagedTensorVersioned *self)
{
    acu_dlpack_release_old(self->context);
    acui_free(self);
}

static void delete_old(struct DLManagedTensor *self)
{
    acu_dlpack_release(self->context);
    acui_free(self);
}

acu_status acu_dlpack_to_old(struct DLManagedTensorVersioned *managed, struct DLManagedTensor **old)
{
    if (!managed || !old)
        return acui_fail(ACU_ERR_INVALID, "acu_dlpack_to_old: %s is NULL",
                         managed ? "the place for the result" : "the tensor");
    ACUI_TRY(acui_dl_check(managed));
    if (managed->flags & ACUI_DL_READ_ONLY)
        return acui_fail(ACU_ERR_SHARED,
                         "a read-only tensor has no older DLPack struct, which can not "
                         "say so");
    if (managed->tensor.dtype.bits < 8 && (managed->flags & ACUI_DL_PADDED))
        return acui_fail(ACU_ERR_DTYPE, "a tensor of %u bits, padded to bytes, has no older DLPack "
                         "struct, which can not say so", managed->tensor.dtype.bits);
    struct DLManagedTensor *result = ACUI_NEW(struct DLManagedTensor);
    if (!result)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a DLPack tensor");
    *result = (struct DLManagedTensor){
        .tensor = managed->tensor, .context = managed, .deleter = delete_old};
    *old = result;
    return ACU_OK;
}

acu_status acu_dlpack_from_old(struct DLManagedTensor *old,
                               struct DLManagedTensorVersioned **managed)
{
    if (!managed || !old)
        return acui_fail(ACU_ERR_INVALID, "acu_dlpack_from_old: %s is NULL",
                         old ? "the place for the result" : "the tensor");
    struct DLManagedTensorVersioned *result = ACUI_NEW(struct DLManagedTensorVersioned);
    if (!result)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a DLPack tensor");
    *result = (struct DLManagedTensorVersioned){.version = {ACUI_DL_MAJOR, ACUI_DL_MINOR},
                                                .tensor = old->tensor,
                                                .context = old,
                                                .deleter = delete_versioned};
    *managed = result;
    return ACU_OK;
}

void acu_dlpack_release(struct DLManagedTensorVersioned *managed)
{
    if (managed && managed->deleter)
        managed->deleter(managed);
}

void acu_dlpack_release_old(struct DLManagedTensor *old)
{
    if (old && old->deleter)
        old->deleter(old);
}
