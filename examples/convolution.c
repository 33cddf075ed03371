/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A convolution through a partition. The result is cut into tiles of 16 by 32 elements of one
 * filter each. The tiles are the grid; at the edges they are smaller, and the kernel asks its tile
 * where it is. Before anything runs, the program asks for the shapes of the results, and has a
 * wrong tile refused. The result is checked on the host.
 */
#include "example.h"

#include <math.h>

extern const char convolution_ptx[];

enum { CHANNELS = 3, FILTERS = 8, ROWS = 61, COLUMNS = 67, SIZE = 3 };

static float image[CHANNELS][ROWS][COLUMNS], filters[FILTERS][CHANNELS][SIZE][SIZE];
static float result[FILTERS][ROWS][COLUMNS];

static void make_numbers(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)((i * 2654435761u >> 7) % 2001) / 1000.0f - 1.0f;
}

static double expected(int k, int row, int column)
{
    double sum = 0;
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) {
                int r = row + i - SIZE / 2, q = column + j - SIZE / 2;
                if (r >= 0 && r < ROWS && q >= 0 && q < COLUMNS)
                    sum += (double)filters[k][c][i][j] * (double)image[c][r][q];
            }
    return sum;
}

static double worst_error(void)
{
    double worst = 0;
    for (int k = 0; k < FILTERS; k++)
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < COLUMNS; column++)
                worst = fmax(worst,
                             fabs((double)result[k][row][column] - expected(k, row, column)));
    return worst;
}

static acu_op *convolution(acu_kernel *kernel, acu_tensor *x, acu_tensor *w, acu_shape tile)
{
    acu_op *y = acu_empty(ACU_F32, ACU_SHAPE(FILTERS, ROWS, COLUMNS));
    return acu_launch(kernel, ACU_BLOCK(32, 16), acu_out(acu_partition(y, tile)), acu_in(x),
                      acu_in(w), acu_i32(CHANNELS));
}

int main(void)
{
    acu_device *device = open_device();
    acu_kernel *kernel = load_kernel(device, convolution_ptx, "convolve");
    acu_tensor *x, *w, *y;
    make_numbers(&image[0][0][0], sizeof image / sizeof(float));
    make_numbers(&filters[0][0][0][0], sizeof filters / sizeof(float));
    check(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(CHANNELS, ROWS, COLUMNS), &x));
    check(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(FILTERS, CHANNELS, SIZE, SIZE), &w));
    check(acu_write_sync(x, image, sizeof image));
    check(acu_write_sync(w, filters, sizeof filters));

    acu_value_info info[4];
    size_t count;
    acu_op *wrong = convolution(kernel, x, w, ACU_SHAPE(16, 32)); /* of two dimensions, not three */
    bool refused = acu_op_describe(device, wrong, info, 4, &count) == ACU_ERR_SHAPE;
    acu_op_release(wrong);

    acu_op *op = convolution(kernel, x, w, ACU_SHAPE(1, 16, 32));
    check(acu_op_describe(device, op, info, 4, &count));
    printf("the launch will yield %zu values, the first a partition of %s [%lld, %lld, %lld]\n",
           count, acu_dtype_name(info[0].dtype), (long long)info[0].shape.dim[0],
           (long long)info[0].shape.dim[1], (long long)info[0].shape.dim[2]);
    check(acu_sync(device, acu_unpartition(acu_first(op)), &y));
    check(acu_read_sync(y, result, sizeof result));
    double worst = worst_error();
    printf("the largest error is %.1e\n", worst);

    acu_tensor_release(x);
    acu_tensor_release(w);
    acu_tensor_release(y);
    acu_kernel_release(kernel);
    check(acu_close(device));
    return refused && worst < 1e-5 ? 0 : 1;
}
