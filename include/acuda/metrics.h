/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counters of the process and of its open devices as text, for Prometheus and whatever else reads
 * OpenMetrics. examples/metrics.c answers requests for it.
 *
 *   # TYPE acuda_submissions counter
 *   # HELP acuda_submissions Submissions that were planned.
 *   acuda_submissions_total 1234
 *   # TYPE acuda_device_in_flight gauge
 *   # HELP acuda_device_in_flight Parts of submissions that are not over.
 *   acuda_device_in_flight{device="0"} 3
 *   ...
 *   # EOF
 *
 * The numbers are those of acu_process_stats (future.h), acu_compile_stats (compile.h),
 * acu_pool_stats (pool.h: each device's own pool, and its page-locked one) and
 * acu_graph_cache_stats (graph_cache.h), where programs find them one by one.
 */
#ifndef ACUDA_METRICS_H
#define ACUDA_METRICS_H

#include <acuda/base.h>
#include <acuda/status.h>

ACU_BEGIN

/*
 * Write the counters into `text`: at most `bytes`, including the terminating 0; the rest is cut
 * off. *needed (`needed` may be NULL) is the size of all of it; `text` may be NULL if `bytes` is 0.
 * Names and labels stay from one version to the next; more may be added.
 *
 * Any thread; does not block. With no device open there are those of the process only. A device
 * that is lost is left out, except for acuda_device_up, which is 0 then. Driver: acu_pool_stats'.
 * Errors: INVALID, NO_MEMORY, FORKED.
 */
ACU_API acu_status acu_metrics(char *text, size_t bytes, size_t *needed);

ACU_END
#endif
