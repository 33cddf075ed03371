/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Groups, for the code that completes futures. */
#ifndef ACUI_ENGINE_GROUP_H
#define ACUI_ENGINE_GROUP_H

#include "engine/engine.h"

#include <acuda/group.h>

/* The future of a member is complete; takes the notice. Called with no lock held, by whoever
 * completed it; does not call the program. */
void acui_group_done(acui_notice *notice);

#endif
