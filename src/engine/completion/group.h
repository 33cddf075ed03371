/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Groups, for the code that completes futures. */
#ifndef ACUI_ENGINE_GROUP_H
#define ACUI_ENGINE_GROUP_H

#include "engine/engine.h"

#include <acuda/group.h>

/* The future of a member is complete; takes the notice. Called by whoever completed it, with no
 * lock held; calls no function of the program's. */
void acui_group_done(acui_notice *notice);

#endif
