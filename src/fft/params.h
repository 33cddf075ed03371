/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host passes to kernels/fft.cu and fft_held.cuh. Include ops/params.h first. Distances
 * are of numbers, of which a complex one is two. */
#ifndef ACUI_FFT_PARAMS_H
#define ACUI_FFT_PARAMS_H

#define ACUI_FFT_LINES 256       /* at most, in a block */
#define ACUI_FFT_BLOCK_F 4096    /* complex numbers in a block: f32 */
#define ACUI_FFT_BLOCK_D 2048    /* f64 */
#define ACUI_FFT_RADICES 12
/* Threads of a block that hold 16 or 10 elements each in registers (kernels/fft_held.cuh). */
#define ACUI_FFT_16_F 512
#define ACUI_FFT_16_D 256
#define ACUI_FFT_10_F 1024
#define ACUI_FFT_10_D 512

/* How the elements of a line are read or written. */
#define ACUI_FFT_COMPLEX 0
#define ACUI_FFT_REAL 1 /* the real part; read: the imaginary part is 0 */
#define ACUI_FFT_HALF 2 /* n / 2 + 1 of them: the others are the conjugates of those from the end */

/* One side of lines: where they begin, and how far their elements are apart. */
typedef struct acui_fft_side {
    long long step;
    int form;
    int swapped; /* real and imaginary part change places: that makes a forward transform inverse */
} acui_fft_side;

/* A forward transform of `lines` of n elements each, in one launch, without temporary memory. */
typedef struct acui_fft_pass {
    long long lines;
    int n, each;                   /* each: lines of a block */
    int radix[ACUI_FFT_RADICES], radices;
    acui_fft_side out, in;
    long long whole, columns, inner; /* if not 0, element k of line l is turned by k c of `whole`
                                      * parts of a circle, c being l / inner mod columns */
    int pitch, half; /* of fft_held: the distance of lines in shared memory; if not 0, element k is
                      * k half + c of a line of n half, of which one side has a HALF */
    acui_index index;
    acui_operand at[2]; /* out, in */
} acui_fft_pass;

#define ACUI_FFT_SPREAD 0  /* from `in`, of n, to dense lines of m, zeros behind */
#define ACUI_FFT_GATHER 1  /* from dense lines of m to `out`, of n; with a chirp divided by m */
#define ACUI_FFT_CHIRP 2   /* the chirp itself, one line of m, around its beginning */
#define ACUI_FFT_TIMES 3   /* dense lines of m times the line `in` */

/* What Bluestein's algorithm does beside transforms: with `chirp`, element j is multiplied by
 * exp(-pi i j^2 / n). */
typedef struct acui_fft_map {
    long long lines, n, m;
    int kind, chirp;
    acui_fft_side side;
    acui_index index;
    acui_operand at[1];
} acui_fft_map;

#endif
