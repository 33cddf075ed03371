/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MPI by the ABI of Open MPI 4 and 5: handles are the addresses of exported data. */
#include "comm/mpi.h"

typedef void *HANDLE;
#define IN_PLACE ((void *)1)
#define STATUS_IGNORE NULL
#define MULTIPLE 3

static struct {
    void *world, *self, *errors;
    void *i8, *u8, *i16, *u16, *i32, *u32, *i64, *u64, *f32, *f64;
    void *sum, *prod, *min, *max;
} data;

static HANDLE world(void)
{
    return data.world;
}

static HANDLE self(void)
{
    return data.self;
}

static HANDLE return_errors(void)
{
    return data.errors;
}

static bool type_of(acu_dtype dtype, HANDLE *type)
{
    void *const types[] = {
        [ACU_I8] = data.i8,   [ACU_U8] = data.u8,   [ACU_I16] = data.i16, [ACU_U16] = data.u16,
        [ACU_I32] = data.i32, [ACU_U32] = data.u32, [ACU_I64] = data.i64, [ACU_U64] = data.u64,
        [ACU_F32] = data.f32, [ACU_F64] = data.f64,
    };
    *type = (size_t)dtype < sizeof types / sizeof *types ? types[dtype] : NULL;
    return *type;
}

static HANDLE op_of(acu_reduction reduction)
{
    return reduction == ACU_REDUCE_SUM    ? data.sum
           : reduction == ACU_REDUCE_PROD ? data.prod
           : reduction == ACU_REDUCE_MIN  ? data.min
                                          : data.max;
}

#include "comm/mpi_calls.h"

static const char *use(void *library)
{
    static const struct {
        const char *name;
        void **address;
    } symbols[] = {
        {"ompi_mpi_comm_world", &data.world}, {"ompi_mpi_errors_return", &data.errors},
        {"ompi_mpi_comm_self", &data.self},
        {"ompi_mpi_int8_t", &data.i8},        {"ompi_mpi_uint8_t", &data.u8},
        {"ompi_mpi_int16_t", &data.i16},      {"ompi_mpi_uint16_t", &data.u16},
        {"ompi_mpi_int32_t", &data.i32},      {"ompi_mpi_uint32_t", &data.u32},
        {"ompi_mpi_int64_t", &data.i64},      {"ompi_mpi_uint64_t", &data.u64},
        {"ompi_mpi_float", &data.f32},        {"ompi_mpi_double", &data.f64},
        {"ompi_mpi_op_sum", &data.sum},       {"ompi_mpi_op_prod", &data.prod},
        {"ompi_mpi_op_min", &data.min},       {"ompi_mpi_op_max", &data.max},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!acui_vendor_symbol(library, symbols[i].name, symbols[i].address))
            return symbols[i].name;
    return use_calls(library);
}

const acui_mpi acui_mpi_open = {
    "Open MPI", use,  state, start, end, join, leave, reduces, post, exchange, test, words,
};
