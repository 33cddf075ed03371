/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Signals in a process whose main thread has ended (pthread_exit). acuda's own threads block all
 * signals, so if none but they are left, nothing would end the process but SIGKILL.
 */
#ifndef ACUI_BASE_SIGNALS_H
#define ACUI_BASE_SIGNALS_H

/* Called by a thread of the program that begins to use acuda. If it is the main thread and ends
 * before the process does, a thread with its signal mask takes its place: what the main thread
 * would have taken, a signal that ends the process for instance, that thread takes. It goes when no
 * other thread is left. */
void acui_signals_watch(void);

#endif
