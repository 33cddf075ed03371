/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* See ../cooperative_groups.h. */
#include "../cooperative_groups.h"
