/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The digits of examples/data, on the host. Nothing here concerns acuda. */
#ifndef MLP_DATA_H
#define MLP_DATA_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIGIT_PIXELS = 64, HOLD_OUT = 5 };

typedef struct digit {
    float pixel[DIGIT_PIXELS]; /* 0 to 1 */
    int label;
} digit;

typedef struct digits {
    digit *list;
    int count;
} digits;

static inline FILE *open_digits(const char *path)
{
    const char *tries[] = {path, "examples/data/digits.csv", EXAMPLES_DATA "/digits.csv"};
    for (int i = 0; i < 3; i++) {
        FILE *file = tries[i] ? fopen(tries[i], "r") : NULL;
        if (file)
            return file;
    }
    fprintf(stderr, "digits.csv was not found; give its path as argument\n");
    exit(1);
}

static inline int read_digit(FILE *file, digit *d)
{
    int value;
    for (int i = 0; i < DIGIT_PIXELS; i++) {
        if (fscanf(file, "%d,", &value) != 1)
            return 0;
        d->pixel[i] = (float)value / 16.0f;
    }
    return fscanf(file, "%d", &d->label) == 1;
}

/* Every fifth digit is held out. */
static inline void read_digits(const char *path, digits *train, digits *held_out)
{
    FILE *file = open_digits(path);
    digit d;
    train->list = malloc(4096 * sizeof d);
    held_out->list = malloc(4096 * sizeof d);
    train->count = held_out->count = 0;
    for (int i = 0; train->list && held_out->list && i < 4096 && read_digit(file, &d); i++) {
        digits *to = i % HOLD_OUT == HOLD_OUT - 1 ? held_out : train;
        to->list[to->count++] = d;
    }
    fclose(file);
    if (!held_out->list || !train->list || held_out->count == 0) {
        fprintf(stderr, "no digits could be read\n");
        exit(1);
    }
}

static inline void free_digits(digits *train, digits *held_out)
{
    free(train->list);
    free(held_out->list);
}

/* 0 .. count-1, in a different order for every seed; the caller frees it. */
static inline int *shuffled_order(int count, int seed)
{
    int *order = malloc((size_t)count * sizeof *order);
    uint32_t state = 12345u + 977u * (uint32_t)seed;
    if (!order)
        exit(1);
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        state = state * 1664525u + 1013904223u;
        int j = (int)((state >> 8) % (uint32_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    return order;
}

#endif
