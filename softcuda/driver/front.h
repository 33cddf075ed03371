/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What happens to every call before and after it: seeds, traces. Off, it costs one look. */
#ifndef SOFTCUDA_DRIVER_FRONT_H
#define SOFTCUDA_DRIVER_FRONT_H

#include <stdbool.h>
#include <stddef.h>

/* Read what the environment says. A CUresult, with its sentence said (errors.h). */
unsigned sd_front_init(void);

#endif
