/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between futures and completion queues. */
#ifndef ACUI_ENGINE_QUEUE_H
#define ACUI_ENGINE_QUEUE_H

#include "engine/future.h"

#include <acuda/queue.h>

/* The future of the notice is complete: put it on its queue; the notice's reference to that goes
 * with it. */
void acui_queue_push(acui_notice *notice);
/* Before anybody else has the new future: it will go on the queue; or, after all, it will not. */
acu_status acui_queue_prepare(acu_future *future, acu_queue *queue, uint64_t tag);
/* False: it is on the queue already, since its deadline has ended it. */
bool acui_queue_forget(acu_future *future);
/* Release what it holds, except its queue. */
void acui_notice_free(acui_notice *notice);

#endif
