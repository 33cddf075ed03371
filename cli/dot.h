/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Graphs in the language of Graphviz, whose program `dot` draws them. */
#ifndef ACUDA_CLI_DOT_H
#define ACUDA_CLI_DOT_H

#include "cli.h"

/* `put` writes the graph. A path that ends in ".svg" gets what dot draws of it, another one the
 * text itself; "-" is the standard output. A failure is told; returns the command's status. */
int dot_write(const char *path, void (*put)(void *context, FILE *to), void *context);

#endif
