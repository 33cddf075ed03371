/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Comparing what the ranks say of a collective, in checked mode. */
#include "comm/comm.h"

#include <stdio.h>

static const char *const names[ACUI_FACTS] = {"kind", "count", "dtype", "reduction", "root"};

static void word_of(int fact, int64_t value, char *word, size_t bytes)
{
    if (fact == 0)
        snprintf(word, bytes, "%s", acui_collective_name((acu_collective_kind)value));
    else if (fact == 2 && acu_dtype_bytes((acu_dtype)value))
        snprintf(word, bytes, "%s", acu_dtype_name((acu_dtype)value));
    else if (fact == 3 && acui_reduction_name((acu_reduction)value))
        snprintf(word, bytes, "%s", acui_reduction_name((acu_reduction)value));
    else
        snprintf(word, bytes, "%lld", (long long)value);
}

bool acui_facts_agree(const int64_t *all, int processes, int each, char *text, size_t bytes)
{
    char mine[24], other[24];
    for (int process = 1; process < processes; process++)
        for (int f = 0; f < ACUI_FACTS; f++) {
            int64_t a = all[f], b = all[process * ACUI_FACTS + f];
            if (a == b)
                continue;
            word_of(f, a, mine, sizeof mine);
            word_of(f, b, other, sizeof other);
            snprintf(text, bytes, "the ranks disagree: rank %d submitted one of %s %s, and rank 0 "
                     "of %s %s", process * each, names[f], other, names[f], mine);
            return false;
        }
    return true;
}
