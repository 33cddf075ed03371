/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "svg.h"

#include <stdarg.h>

void svg_escaped(FILE *to, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '&': fputs("&amp;", to); break;
        case '"': fputs("&quot;", to); break;
        default:
            if ((unsigned char)*text >= ' ' || *text == '\n')
                fputc(*text, to);
        }
    }
}

void svg_begin(FILE *to, double width, double height, const char *title)
{
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n"
            "<title>",
            width, height, width, height);
    svg_escaped(to, title);
    fprintf(to, "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
}

void svg_end(FILE *to)
{
    fputs("</svg>\n", to);
}

void svg_box(FILE *to, double x, double y, double width, double height, const char *colour,
             const char *hover)
{
    fprintf(to, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"", x, y,
            width, height, colour);
    if (!hover) {
        fputs("/>\n", to);
        return;
    }
    fputs("><title>", to);
    svg_escaped(to, hover);
    fputs("</title></rect>\n", to);
}

void svg_line(FILE *to, double x, double y, double x2, double y2, const char *colour)
{
    fprintf(to, "<path d=\"M%.2f %.2fL%.2f %.2f\" stroke=\"%s\" fill=\"none\"/>\n", x, y, x2, y2,
            colour);
}

void svg_text(FILE *to, double x, double y, const char *anchor, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(to, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" fill=\"#101828\" "
                "pointer-events=\"none\">", x, y, anchor);
    svg_escaped(to, text);
    fputs("</text>\n", to);
}

double svg_step(double span, int marks)
{
    static const double factors[] = {1, 2, 5};
    double power = 1;
    while (power * marks * 10 <= span)
        power *= 10;
    while (power * marks > span)
        power /= 10;
    for (int i = 2; i > 0; i--)
        if (factors[i] * power * marks <= span)
            return factors[i] * power;
    return power;
}
