/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's version. */
#include <acuda/base.h>

int acu_version(void)
{
    return ACU_VERSION;
}
