/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry points by number and by name. */
#include "driver/names.h"

#include <string.h>

const acui_call acui_calls[ACU_CALL_COUNT] = {
#define CALL(name, symbol, since, effect, kind, params, args)                                      \
    [ACU_CALL_##name] = {#name, #symbol, since, offsetof(acu_driver_table, name)},
    ACU_DRIVER_CALLS(CALL)
#undef CALL
};

const acui_older acui_older_symbols[] = {
#define OLDER(name, symbol, since) {ACU_CALL_##name, #symbol, since},
    ACU_DRIVER_OLDER_SYMBOLS(OLDER)
#undef OLDER
};
const size_t acui_older_count = sizeof acui_older_symbols / sizeof acui_older_symbols[0];

bool acui_call_valid(acu_driver_call call)
{
    return (int)call >= 0 && (int)call < ACU_CALL_COUNT;
}

const char *acu_driver_call_name(acu_driver_call call)
{
    return acui_call_valid(call) ? acui_calls[call].symbol : "?";
}

int acu_driver_call_since(acu_driver_call call)
{
    return acui_call_valid(call) ? acui_calls[call].since : 0;
}

acu_driver_call acu_driver_call_find(const char *name)
{
    for (int i = 0; name && i < ACU_CALL_COUNT; i++)
        if (strcmp(name, acui_calls[i].symbol) == 0 || strcmp(name, acui_calls[i].name) == 0)
            return (acu_driver_call)i;
    return ACU_CALL_ANY;
}
