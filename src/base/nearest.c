/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The distance between two words, by how many steps turn one into the other (Damerau). */
#include "base/nearest.h"

#include <ctype.h>
#include <string.h>

#define LONGEST 63
#define STEP 2 /* a change of case is half a step */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t cost(char a, char b)
{
    if (a == b)
        return 0;
    return tolower((unsigned char)a) == tolower((unsigned char)b) ? STEP / 2 : STEP;
}

/* Row by row: rows[0] is the current one. */
static size_t distance(const char *a, size_t m, const char *b, size_t n)
{
    size_t memory[3][LONGEST + 1], *rows[3] = {memory[0], memory[1], memory[2]};
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j * STEP;
    for (size_t i = 1; i <= m; i++) {
        size_t *oldest = rows[2];
        rows[2] = rows[1];
        rows[1] = rows[0];
        rows[0] = oldest;
        rows[0][0] = i * STEP;
        for (size_t j = 1; j <= n; j++) {
            size_t best = rows[1][j - 1] + cost(a[i - 1], b[j - 1]);
            best = least(best, least(rows[1][j], rows[0][j - 1]) + STEP);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, rows[2][j - 2] + STEP);
            rows[0][j] = best;
        }
    }
    return rows[0][n];
}

void acui_nearest_look(acui_nearest *nearest, const char *name)
{
    size_t m = strlen(nearest->wanted), n = strlen(name);
    if (m == 0 || m > LONGEST || n > LONGEST)
        return;
    size_t d = distance(nearest->wanted, m, name, n);
    if (d <= (m + 2) / 3 * STEP && d < nearest->distance) {
        nearest->distance = d;
        nearest->found = name;
    }
}
