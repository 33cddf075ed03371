/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What each thread has of its own: `ACUI_LOCAL bool asking;`. In the static block, where one
 * instruction reads it, though the library may be loaded when the process runs; room there is
 * scarce, so for words only.
 */
#ifndef ACUI_BASE_LOCAL_H
#define ACUI_BASE_LOCAL_H

#define ACUI_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

#endif
