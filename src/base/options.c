/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading option structs. */
#include "base/options.h"

#include "base/error.h"

#include <string.h>

acu_status acui_options_read(void *known, size_t known_bytes, const void *options,
                             const char *function)
{
    memset(known, 0, known_bytes);
    if (!options)
        return ACU_OK;
    size_t size;
    memcpy(&size, options, sizeof size);
    if (size < sizeof size)
        return acui_fail(ACU_ERR_INVALID, "%s: set the options' size to sizeof their struct",
                         function);
    memcpy(known, options, size < known_bytes ? size : known_bytes);
    for (size_t i = known_bytes; i < size; i++)
        if (((const unsigned char *)options)[i])
            return acui_fail(ACU_ERR_NOT_SUPPORTED,
                             "%s: the options set something that this version of the library does "
                             "not know",
                             function);
    return ACU_OK;
}

acu_status acui_struct_check(const void *out, const char *function)
{
    size_t size = 0;
    if (!out)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put them", function);
    memcpy(&size, out, sizeof size);
    if (size < sizeof size)
        return acui_fail(ACU_ERR_INVALID, "%s: set the struct's size to sizeof the struct",
                         function);
    return ACU_OK;
}

acu_status acui_struct_write(void *out, const void *known, size_t known_bytes, const char *function)
{
    size_t size = 0;
    acu_status status = acui_struct_check(out, function);
    if (status != ACU_OK)
        return status;
    memcpy(&size, out, sizeof size);
    if (size > known_bytes)
        size = known_bytes;
    memcpy(out, known, size);
    memcpy(out, &size, sizeof size);
    return ACU_OK;
}
