/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For rare cases in functions that are called all the time: their code is kept apart, so that these
 * functions save no registers for it.
 */
#ifndef ACUI_BASE_RARE_H
#define ACUI_BASE_RARE_H

#define ACUI_RARE __attribute__((noinline, cold))
/* The same for cases that are less rare: the code is not put in the cold section. */
#define ACUI_APART __attribute__((noinline))

#endif
