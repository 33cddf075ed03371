/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* onnxruntime as a library of vendor/: its table of calls, its statuses, its element types. */
#include "infer/ort.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

typedef void (*entry)(void);

typedef struct base {
    const entry *(*table)(uint32_t version); /* NULL: it does not have that version; says so on
                                             * stderr */
    const char *(*version)(void);
} base;

static const base *(*get_base)(void);

static int property(int which, int *value)
{
    int part[3] = {0};
    if (!get_base) /* it is no onnxruntime */
        return 1;
    if (sscanf(get_base()->version(), "%d.%d.%d", &part[0], &part[1], &part[2]) < 2)
        return 1;
    *value = part[which];
    return 0;
}

static int (*property_of)(int, int *) = property;

static const acui_symbol symbols[] = {{"OrtGetApiBase", &get_base}};

acui_library acui_library_ONNXRUNTIME = {
    .find = {.words = "onnxruntime",
             .stem = "libonnxruntime.so",
             .names = {"libonnxruntime.so.1", "libonnxruntime.so"}},
    .id = ACU_VENDOR_ONNXRUNTIME,
    .oldest = 1,
    .with_12 = INT_MAX, /* it has no CUDA of its own, but providers, which look for it */
    .with_13 = INT_MAX,
    .anywhere = true,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .property = &property_of,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- the table ------------------------------------------------------------------------------- */

acui_ort acui_ort_calls;

static void take(const entry *table, size_t place, void *field)
{
    memcpy(field, &table[place], sizeof table[place]);
}

static void read_table(const entry *table)
{
    acui_ort *ort = &acui_ort_calls;
    take(table, 1, &ort->code_of);
    take(table, 2, &ort->words_of);
#define ACU_X(place, field, parameters) take(table, place, &ort->field);
    ACUI_ORT_CALLS(ACU_X)
    ACUI_ORT_RELEASES(ACU_X)
#undef ACU_X
}

acu_status acui_ort_open(acu_device *device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    acui_library *library = &acui_library_ONNXRUNTIME;
    const char *refusal = acui_library_refusal(library, device);
    if (refusal)
        return acui_fail(ACU_ERR_NOT_FOUND, "%s", refusal);
    ACUI_TRY(acui_library_open(library));
    pthread_mutex_lock(&lock);
    const entry *table = acui_ort_calls.run ? NULL : get_base()->table(ACUI_ORT_API);
    if (table)
        read_table(table);
    bool known = acui_ort_calls.run != NULL;
    pthread_mutex_unlock(&lock);
    return known ? ACU_OK
                 : acui_fail(ACU_ERR_NOT_SUPPORTED, "onnxruntime %s (%s) is too old: 1.%d is "
                             "needed", get_base()->version(), acui_library_path(library),
                             ACUI_ORT_API);
}

/* ---- statuses -------------------------------------------------------------------------------- */

static const struct {
    acu_status status;
    const char *name;
} codes[] = {
    {ACU_OK, "OK"},
    {ACU_ERR_DRIVER, "FAIL"},
    {ACU_ERR_INVALID, "INVALID_ARGUMENT"},
    {ACU_ERR_NOT_FOUND, "NO_SUCHFILE"},
    {ACU_ERR_INVALID, "NO_MODEL"},
    {ACU_ERR_DRIVER, "ENGINE_ERROR"},
    {ACU_ERR_DRIVER, "RUNTIME_EXCEPTION"},
    {ACU_ERR_INVALID, "INVALID_PROTOBUF"},
    {ACU_ERR_INVALID, "MODEL_LOADED"},
    {ACU_ERR_NOT_SUPPORTED, "NOT_IMPLEMENTED"},
    {ACU_ERR_INVALID, "INVALID_GRAPH"},
    {ACU_ERR_DRIVER, "EP_FAIL"},
};

acu_status acui_ort_said(const char *call, ort_status *status)
{
    if (!status)
        return ACU_OK;
    int code = acui_ort_calls.code_of(status);
    bool known = code >= 0 && code < (int)(sizeof codes / sizeof *codes);
    acu_status st = known && codes[code].status != ACU_OK ? codes[code].status : ACU_ERR_DRIVER;
    acui_fail(st, "onnxruntime answered %s (%d) to %s: %s", known ? codes[code].name : "?", code,
              call, acui_ort_calls.words_of(status));
    acui_ort_calls.release_status(status);
    return st;
}

/* ---- element types --------------------------------------------------------------------------- */

/* By onnxruntime's numbers. */
static const acu_dtype dtypes[] = {
    [1] = ACU_F32,       [2] = ACU_U8,      [3] = ACU_I8,   [4] = ACU_U16,  [5] = ACU_I16,
    [6] = ACU_I32,       [7] = ACU_I64,     [9] = ACU_BOOL, [10] = ACU_F16, [11] = ACU_F64,
    [12] = ACU_U32,      [13] = ACU_U64,    [16] = ACU_BF16, [17] = ACU_F8E4M3FN,
    [19] = ACU_F8E5M2,
};

acu_dtype acui_ort_dtype(int type)
{
    return type >= 0 && type < (int)(sizeof dtypes / sizeof *dtypes) ? dtypes[type] : ACU_NO_DTYPE;
}

int acui_ort_type(acu_dtype dtype)
{
    for (int i = 0; i < (int)(sizeof dtypes / sizeof *dtypes); i++)
        if (dtypes[i] == dtype)
            return i;
    return 0;
}
