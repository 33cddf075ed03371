/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signatures that the program declares: "tile f32, f32, in f32". */
#include "base/alloc.h"
#include "base/error.h"
#include "kernel/kernel.h"

#include <acuda/tile.h>
#include <string.h>

#define MOST_WORDS 2

static acu_dtype dtype_named(const char *text, size_t length)
{
    for (int d = 1; d < ACU_DTYPE_COUNT; d++) {
        const char *name = acu_dtype_name((acu_dtype)d);
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return (acu_dtype)d;
    }
    return ACU_NO_DTYPE;
}

static bool want_named(const char *text, size_t length, enum acui_want *want)
{
    static const struct {
        const char *name;
        enum acui_want want;
    } wants[] = {{"any", ACUI_WANT_ANY},
                 {"in", ACUI_WANT_IN},
                 {"out", ACUI_WANT_OUT},
                 {"inout", ACUI_WANT_INOUT},
                 {"tile", ACUI_WANT_TILE}};
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++)
        if (strlen(wants[i].name) == length && memcmp(wants[i].name, text, length) == 0) {
            *want = wants[i].want;
            return true;
        }
    return false;
}

/* One parameter's words, up to `end`. */
static acu_status parse_param(const char *text, const char *end, acui_param *param)
{
    int words = 0;
    param->want = ACUI_WANT_SCALAR;
    param->dtype = ACU_NO_DTYPE;
    while (text < end) {
        size_t length = 0;
        while (text < end && *text == ' ')
            text++;
        while (text + length < end && text[length] != ' ')
            length++;
        if (length == 0)
            break;
        acu_dtype dtype = dtype_named(text, length);
        bool known = words == 0 && want_named(text, length, &param->want);
        if (dtype != ACU_NO_DTYPE && param->dtype == ACU_NO_DTYPE)
            param->dtype = dtype;
        else if (!known)
            return acui_fail(ACU_ERR_INVALID, "acu_kernel_declare: \"%.*s\" is no element type and "
                             "none of in, out, inout, tile, any", (int)length, text);
        text += length;
        words++;
    }
    if (words == 0 || words > MOST_WORDS ||
        (param->dtype == ACU_NO_DTYPE && param->want == ACUI_WANT_SCALAR))
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_declare: a parameter without a word");
    return ACU_OK;
}

static uint32_t declared_bytes(const acui_param *param)
{
    switch (param->want) {
    case ACUI_WANT_ANY:
        return 0;
    case ACUI_WANT_SCALAR:
        return (uint32_t)acu_dtype_bytes(param->dtype);
    case ACUI_WANT_TILE:
        return sizeof(acu_tile_param);
    default:
        return 8;
    }
}

static acu_status fit(const acu_kernel *k, acui_param *params, size_t count)
{
    if (!k->info.params_known) {
        for (size_t i = 0; i < count; i++)
            params[i].bytes = declared_bytes(&params[i]);
        return ACU_OK;
    }
    if (count != k->info.param_count)
        return acui_fail(ACU_ERR_ARGUMENTS, "%s has %zu parameters, %zu are declared", k->name,
                         k->info.param_count, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bytes = declared_bytes(&params[i]);
        if (bytes && bytes != k->params[i].bytes)
            return acui_fail(ACU_ERR_ARGUMENTS, "parameter %zu of %s has %u bytes, %u are declared",
                             i, k->name, k->params[i].bytes, bytes);
        params[i].bytes = k->params[i].bytes;
        params[i].type = k->params[i].type;
    }
    return ACU_OK;
}

static acu_status parse_all(const acu_kernel *k, const char *signature, acui_param *params,
                            size_t count)
{
    const char *text = signature;
    for (size_t i = 0; i < count; i++) {
        const char *end = strchr(text, ',');
        if (!end)
            end = text + strlen(text);
        ACUI_TRY(parse_param(text, end, &params[i]));
        text = end + 1;
    }
    return fit(k, params, count);
}

acu_status acu_kernel_declare(acu_kernel *kernel, const char *signature)
{
    ACUI_CHECK(kernel, KERNEL);
    if (!signature)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_declare: the signature is NULL");
    size_t count = signature[strspn(signature, " ")] ? 1 : 0;
    for (const char *c = signature; *c; c++)
        count += *c == ',';
    acui_param *params = ACUI_NEW_ARRAY(acui_param, count);
    if (!params)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a signature");
    acu_status status = parse_all(kernel, signature, params, count);
    if (status != ACU_OK) {
        acui_free(params);
        return status;
    }
    acui_free(kernel->params);
    kernel->params = params;
    kernel->info.param_count = count;
    kernel->info.params_known = true;
    return ACU_OK;
}
