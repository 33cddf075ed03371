/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counts. */
#ifndef ACUI_ENGINE_REPORT_H
#define ACUI_ENGINE_REPORT_H

#include "engine/engine.h"

/* ---- metrics.c ---- */
void acui_count_submitted(void);
void acui_count_done(bool failed);
void acui_count_operations(const acui_task *task, bool done);

#endif
