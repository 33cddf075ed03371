/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What happens to every call before and after it: seeds, scripted faults, traces. With all of these
 * off it costs one look.
 */
#ifndef SOFTCUDA_DRIVER_FRONT_H
#define SOFTCUDA_DRIVER_FRONT_H

#include <stdbool.h>
#include <stddef.h>

/* Read the environment. A CUresult; on failure the sentence is set (errors.h). */
unsigned sd_front_init(void);

#endif
