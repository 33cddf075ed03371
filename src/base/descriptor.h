/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Descriptors of acuda's own. They are never 0, 1 or 2: a program that has closed these still
 * prints, or lets another library print, and that must not land in a file of acuda's.
 */
#ifndef ACUI_BASE_DESCRIPTOR_H
#define ACUI_BASE_DESCRIPTOR_H

#include <dirent.h>

/* The same file under a number above 2, with close-on-exec; takes over `descriptor`, which may be
 * -1. errno says why it is -1. */
int acui_descriptor(int descriptor);
/* open and opendir, in this way. acui_open_new is for O_CREAT: readable for this user only. */
int acui_open(const char *path, int flags);
int acui_open_new(const char *path, int flags);
DIR *acui_open_folder(const char *path);

#endif
