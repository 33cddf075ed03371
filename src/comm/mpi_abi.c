/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MPI by the standard ABI of MPI 5.0 (libmpi_abi.so): handles are pointers with constant values. */
#include "comm/mpi.h"

typedef void *HANDLE;
#define IN_PLACE ((void *)1)
#define STATUS_IGNORE NULL
#define MULTIPLE 4096

static HANDLE handle_of(uintptr_t value)
{
    return (HANDLE)value;
}

static HANDLE world(void)
{
    return handle_of(0x101);
}

static HANDLE self(void)
{
    return handle_of(0x102);
}

static HANDLE return_errors(void)
{
    return handle_of(0x143);
}

static bool type_of(acu_dtype dtype, HANDLE *type)
{
    static const uint16_t types[] = {
        [ACU_I8] = 0x240,  [ACU_U8] = 0x241,  [ACU_I16] = 0x248, [ACU_U16] = 0x249,
        [ACU_I32] = 0x250, [ACU_U32] = 0x251, [ACU_I64] = 0x258, [ACU_U64] = 0x259,
        [ACU_F32] = 0x210, [ACU_F64] = 0x214,
    };
    *type = handle_of((size_t)dtype < sizeof types / sizeof *types ? types[dtype] : 0);
    return *type;
}

static HANDLE op_of(acu_reduction reduction)
{
    return handle_of(reduction == ACU_REDUCE_SUM    ? 0x21
                     : reduction == ACU_REDUCE_PROD ? 0x24
                     : reduction == ACU_REDUCE_MIN  ? 0x22
                                                    : 0x23);
}

#include "comm/mpi_calls.h"

const acui_mpi acui_mpi_abi = {
    "MPI by its standard ABI", use_calls, state, start, end, join, leave, reduces, post, exchange,
    test, words,
};
