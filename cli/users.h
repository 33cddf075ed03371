/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef ACUDA_CLI_USERS_H
#define ACUDA_CLI_USERS_H

#include <json-c/json.h>

/* [{"pid", "name"}]: the processes, but for this one, that use the GPU at that place, as
 * "0000:01:00.0". `root` stands before /proc ("": the machine's own). */
struct json_object *cli_users_of(const char *root, const char *pci);

#endif
