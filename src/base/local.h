/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What each thread has of its own: `ACUI_LOCAL bool asking;`. In the static block, where one
 * instruction reads it, though the library may be loaded when the process runs. Room there is
 * scarce and shared with all others that are loaded so: for words only (test repo.symbols).
 */
#ifndef ACUI_BASE_LOCAL_H
#define ACUI_BASE_LOCAL_H

#define ACUI_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

#endif
