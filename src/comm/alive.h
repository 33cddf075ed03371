/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which processes are still there: NCCL does not say. Each of those that met by a file has a file
 * of its own beside it, which it locks until it ends, and in which it writes how many collectives
 * it has called. One that is late, or NCCL reports to be gone, is looked for there.
 */
#ifndef ACUI_COMM_ALIVE_H
#define ACUI_COMM_ALIVE_H

#include <acuda/status.h>
#include <stddef.h>

typedef struct acui_alive acui_alive;

/* For process `own` of so many, which met by `file` and got `id` there. Errors: IO, NO_MEMORY. */
acu_status acui_alive_begin(const char *file, const void *id, size_t bytes, int own, int processes,
                            acui_alive **made);
void acui_alive_end(acui_alive *alive); /* NULL is fine, also below: then nothing is known */

/* How many were called, and whether some are on the devices, which has to be told again and again:
 * this writes it now and then. */
void acui_alive_tell(acui_alive *alive, uint64_t called, bool busy);
/* Find out who is lost: who has ended; if nobody has, who has not called collective `number` (from
 * 0 on; UINT64_MAX: do not ask); if all have, who has some on the devices and does not say so any
 * more, for which this blocks a third of a second. Whether somebody is. */
bool acui_alive_find(acui_alive *alive, uint64_t number);
bool acui_alive_lost(const acui_alive *alive, int process); /* as was found last */
const char *acui_alive_file(const acui_alive *alive);       /* by which they met */

#endif
