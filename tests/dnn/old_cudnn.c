/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that poses as a cuDNN of version 8, which lacks calls. */
int cudnnGetProperty(int which, int *value);

int cudnnGetProperty(int which, int *value)
{
    *value = which == 0 ? 8 : 9;
    return 0;
}
