/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For what seldom happens in functions that are called all the time: it is kept out of their way,
 * and they save no registers for it.
 */
#ifndef ACUI_BASE_RARE_H
#define ACUI_BASE_RARE_H

#define ACUI_RARE __attribute__((noinline, cold))
/* Not so seldom that it were to be slow, but not in all of them. */
#define ACUI_APART __attribute__((noinline))

#endif
