/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the host passes by value to the kernels for images; for C and for CUDA C++. Strides and
 * offsets are in elements.
 */
#ifndef ACUI_IMAGE_PARAMS_H
#define ACUI_IMAGE_PARAMS_H

#define ACUI_IMAGE_COLUMNS 32 /* pixels of the result that a block makes at a time */
#define ACUI_IMAGE_ROWS 8
#define ACUI_IMAGE_TAPS 64    /* pixels along an axis whose weights a block keeps */
#define ACUI_IMAGE_POINTERS 384 /* tensors in a launch; with the rest, parameters fill 4 KiB */

/*
 * Along one axis: result pixel d lies at start + (d - begin + shift) * step, where source pixel i
 * lies at i (for the nearest pixel: from i to i + 1). Filters read pixels nearer than `reach`; they
 * take distances times `shrink`.
 */
typedef struct acui_axis {
    double start, shift, step;
    float reach, shrink;
    int first, last; /* source pixels that exist */
    int begin, end;  /* result pixels that are filled; the others are padding */
} acui_axis;

/* A plane of numbers of one source image. */
typedef struct acui_plane {
    long long offset, row, column;
} acui_plane;

typedef struct acui_image_source {
    acui_axis x, y;
    acui_plane plane[3];
    long long channel; /* from one channel to the next, in plane 0 */
    int pointer[3];    /* which tensor of the launch each plane is in */
} acui_image_source;

enum acui_filter_kind {
    ACUI_FILTER_NEAREST,
    ACUI_FILTER_LINEAR,
    ACUI_FILTER_CUBIC,
    ACUI_FILTER_AREA,
    ACUI_FILTER_LANCZOS
};

typedef struct acui_sample {
    acui_image_source one;  /* the source of all images, if there is no table */
    long long batch[3];     /* from one image to the next, in each plane of `one` */
    long long out_image, out_row, out_column, out_channel;
    int width, height, images;
    int table;              /* there is one */
    int channels, out_channels, dtype, out_dtype;
    int filter, drop;       /* drop: pixels outside do not count */
    int own;                /* a result's channel is made of one of the source's only: 1 in their
                             * order, -1 in the other one; 0: of several */
    int swapped;            /* chroma side by side: V comes first */
    int weights;            /* weights fit into the block's memory */
    int yuv, chroma_x, chroma_y; /* three planes; chroma has >> as many columns and rows */
    float lobes, cubic;
    float decode[3][4];     /* from Y, U, V (and 1) to R, G, B from 0 to 1 */
    float mix[4][5];        /* from the source's channels (and 1) to the result's */
    float pad[4];
} acui_sample;

/* From pixels to planes. A thread takes the pixels that share chroma. */
typedef struct acui_encode {
    long long image, row, column, channel;
    acui_plane plane[3];
    long long batch[3];
    int width, height, images, channels;
    int dtype, out_dtype, chroma_x, chroma_y;
    float mix[3][4];        /* from the source's channels, in numbers of its dtype, to Y, U, V */
    float add[3];
} acui_encode;

/* As acu_border, without its default. */
enum acui_border_kind {
    ACUI_BORDER_CONSTANT,
    ACUI_BORDER_REPLICATE,
    ACUI_BORDER_REFLECT,
    ACUI_BORDER_REFLECT_101,
    ACUI_BORDER_WRAP
};

/* The source and the result of what reads one tensor. */
typedef struct acui_image_pair {
    long long image, row, column, channel; /* of the source */
    long long out_image, out_row, out_column, out_channel;
    int width, height; /* of the source */
    int out_width, out_height;
    int images, channels, dtype, out_dtype;
    int border;        /* acui_border_kind */
    float pad[4];
} acui_image_pair;

#define ACUI_WARP_ROWS 8 /* that a thread of warp_rgb makes */

enum acui_warp_kind { ACUI_WARP_MATRIX, ACUI_WARP_PERSPECTIVE, ACUI_WARP_MAPS };

/* From each pixel of the result to a place in the source. */
typedef struct acui_warp {
    acui_image_pair at;
    double matrix[9];
    long long map_image[2], map_row[2], map_column[2];
    long long step[2]; /* for warp_rgb: from one row to the next, along x and y, times 2^32 */
    int kind, filter, reach; /* reach: half the pixels of a filter */
    float cubic, lobes;
} acui_warp;

#define ACUI_FILTER_TILE 32 /* rows of the result that a block filters at a time */
#define ACUI_FILTER_TAPS 63 /* of a separable filter, along an axis */
#define ACUI_WORDS_ROWS 24  /* that a thread of separable_words makes */
#define ACUI_WORDS_EDGE 3   /* blocks for the edges, in each row of blocks */
#define ACUI_WORDS_TAPS 5
#define ACUI_MEDIAN_SIDE 7
#define ACUI_MORPH_SIDE 63

typedef struct acui_separable {
    acui_image_pair at;
    int across_taps, down_taps; /* odd */
    float across[ACUI_FILTER_TAPS], down[ACUI_FILTER_TAPS];
} acui_separable;

/* A window around each pixel, of odd sides. */
typedef struct acui_window {
    acui_image_pair at;
    int width, height;
    int dilate;         /* the largest, not the smallest */
    float color, space; /* of a bilateral filter: exponents of squares of distances */
    unsigned long long mask[ACUI_MORPH_SIDE]; /* bit i of row j: that pixel counts */
} acui_window;

enum acui_point_kind {
    ACUI_POINT_BINARY, /* the first ones are as acu_threshold_kind */
    ACUI_POINT_BINARY_INVERSE,
    ACUI_POINT_TRUNCATE,
    ACUI_POINT_TO_ZERO,
    ACUI_POINT_TO_ZERO_INVERSE,
    ACUI_POINT_GAMMA,
    ACUI_POINT_TABLE
};

typedef struct acui_image_point {
    acui_image_pair at;
    int kind;
    int given; /* the limit is in memory, for each image */
    float limit, value, full;
    long long table_image, table_channel, table_entry;
} acui_image_point;

typedef struct acui_composite {
    acui_image_pair at; /* of the lower image, and the result */
    long long image, row, column, channel; /* of the upper image */
    float full;
    int premultiplied;
} acui_composite;

typedef struct acui_strides {
    long long image, row, column;
} acui_strides;

typedef struct acui_boxes {
    long long count, others, most; /* boxes; those of the other list; that are kept at most */
    acui_strides boxes, more, classes, out; /* more: the other boxes, or scores */
    float overlap, least;
    int has_classes;
} acui_boxes;

typedef struct acui_draw {
    acui_image_pair at;
    long long count, boxes_count; /* that are drawn; that there are */
    acui_strides boxes, which;
    float half; /* of the thickness */
    int has_which;
} acui_draw;

#endif
