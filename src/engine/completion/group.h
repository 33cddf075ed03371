/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Groups, for the code that completes futures. */
#ifndef ACUI_ENGINE_GROUP_H
#define ACUI_ENGINE_GROUP_H

#include "engine/future.h"

#include <acuda/group.h>

/* The future of a member is complete; takes the notice. Called by whoever completed it, with no
 * lock held; calls no function of the program's. */
void acui_group_done(acui_notice *notice);

/* A future with these notices is about to fail with DEPENDENCY. If a group of it gives its members
 * up, it is given up with them, whoever comes first: *status becomes CANCELLED. Returns the fault
 * to complete it with, held: `fault`, or one of that group. NULL: there is no memory for it. The
 * future's lock is held. */
acui_fault *acui_group_outcome(const acui_notice *notices, acu_status *status, acui_fault *fault);

#endif
