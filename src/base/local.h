/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Thread-local variables: `ACUI_LOCAL bool asking;`. They are in the static TLS block, where one
 * instruction reads them, although the library may be loaded at run time. Room there is scarce and
 * shared with all other libraries that are loaded at run time, so it is for words only (test
 * repo.symbols).
 */
#ifndef ACUI_BASE_LOCAL_H
#define ACUI_BASE_LOCAL_H

#define ACUI_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

#endif
