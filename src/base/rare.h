/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For what seldom happens in functions that are called all the time: it is kept out of their way,
 * and they save no registers for it.
 */
#ifndef ACUI_BASE_RARE_H
#define ACUI_BASE_RARE_H

#define ACUI_RARE __attribute__((noinline, cold))
/* The same for what is not so rare: it is not put where cold code lies. */
#define ACUI_APART __attribute__((noinline))

#endif
