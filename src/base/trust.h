/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Who else can change a file. What acuda runs or loads because of a setting or from a cache (a
 * compiler, a library, compiled code) must be in the hands of this user and of root alone, and so
 * must each folder and each link on the way to it: whoever can write a folder can put another file
 * in its place.
 */
#ifndef ACUI_BASE_TRUST_H
#define ACUI_BASE_TRUST_H

#include <stdbool.h>

#define ACUI_DISTRUST 200 /* bytes of the reason */

/* true: nobody else can, or there is nothing at the path. false: `why` says who can change what.
 * Others than root may be: the group that is named by the user's own number (Debian's private
 * groups), and owners that a user namespace does not show. In a folder with the sticky bit, such as
 * /tmp, the owner of the entry counts. Access lists are not looked at. Does not change errno. */
bool acui_is_trusted(const char *path, char why[ACUI_DISTRUST]);

#endif
