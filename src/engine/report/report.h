/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The suspect for a device's loss, and counts. */
#ifndef ACUI_ENGINE_REPORT_H
#define ACUI_ENGINE_REPORT_H

#include "engine/engine.h"

/* ---- suspect.c ---- */
/* The device is about to be marked lost: add the operation to blame to the thread's record. Takes
 * no lock but the flight lock. */
void acui_suspect(acu_device *device);
const acui_node *acui_suspect_in(const acui_task *task); /* the first that can do harm; else the
                                                          * first */
/* On a device that issues one by one: enqueue the node, and wait until it is done. Blocks. */
acu_status acui_enqueue_alone(acui_node *node, acu_stream *stream);
/* All that is on the stream is marked: note that it is complete, since nobody can ask once
 * something later has failed. */
void acui_finish_alone(acu_stream *stream);

/* ---- counters.c ---- */
void acui_count_submitted(void);
void acui_count_done(bool failed);
void acui_count_operations(const acui_task *task, bool done);

#endif
