/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writing a picture as SVG: what `acuda trace` and `acuda bench` draw. Sizes are in pixels. */
#ifndef ACUDA_CLI_SVG_H
#define ACUDA_CLI_SVG_H

#include "cli.h"

/* Text, for XML and HTML; what they can not have in it is left out. */
void svg_escaped(FILE *to, const char *text);
void svg_begin(FILE *to, double width, double height, const char *title);
void svg_end(FILE *to);
/* A filled box; `hover`, unless NULL, is shown where the mouse rests on it. */
void svg_box(FILE *to, double x, double y, double width, double height, const char *colour,
             const char *hover);
void svg_line(FILE *to, double x, double y, double x2, double y2, const char *colour);
/* `anchor`: start, middle or end, the place of x in the text; y is its base line. */
void svg_text(FILE *to, double x, double y, const char *anchor, const char *format, ...)
    ACU_PRINTF(5, 6);
/* The step between marks on an axis, so that some `marks` of them cover `span`: 1, 2 or 5 times a
 * power of ten. */
double svg_step(double span, int marks);

#endif
