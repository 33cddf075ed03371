/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * y[k] = the sum over channels c of x[c] convolved with w[k][c], 3 by 3, with zeros around the
 * image. A block computes a tile of one result k, with the part of the image under it in shared
 * memory.
 */
#include <acuda/device.cuh>

constexpr int Around = 1, Size = 2 * Around + 1;
constexpr int Height = 16, Width = 32; /* of a tile, and of the block */

/* One channel under the tile at (top, left), with a border of `Around` pixels. */
static __device__ void load(float (*patch)[Width + 2 * Around], const float *x, long long top,
                            long long left, long long rows, long long columns)
{
    for (int i = threadIdx.y; i < Height + 2 * Around; i += Height)
        for (int j = threadIdx.x; j < Width + 2 * Around; j += Width) {
            long long r = top + i - Around, c = left + j - Around;
            bool inside = r >= 0 && r < rows && c >= 0 && c < columns;
            patch[i][j] = inside ? x[r * columns + c] : 0;
        }
}

extern "C" __global__ void convolve(acu_tile<float, 3> y, const float *x, const float *w,
                                    int channels)
{
    __shared__ float patch[Height + 2 * Around][Width + 2 * Around];
    long long k = y.origin(0), rows = y.shape(1), columns = y.shape(2);
    float sum = 0;
    for (int c = 0; c < channels; c++) {
        load(patch, x + c * rows * columns, y.origin(1), y.origin(2), rows, columns);
        __syncthreads();
        const float *filter = w + (k * channels + c) * Size * Size;
        for (int i = 0; i < Size; i++)
            for (int j = 0; j < Size; j++)
                sum += filter[i * Size + j] * patch[threadIdx.y + i][threadIdx.x + j];
        __syncthreads();
    }
    long long i = threadIdx.y, j = threadIdx.x;
    if (y.contains(0, i, j))
        y.at(0, i, j) = sum;
}
