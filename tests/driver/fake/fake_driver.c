/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Libraries that pose as libcuda.so.1, for the rules of choosing. Macros say what each one does:
 * FAKE_VERSION, FAKE_INIT (what cuInit answers), FAKE_DEVICES, FAKE_NO_INIT (it has no cuInit at
 * all), FAKE_NEEDS (it needs another library). They have a few entry points only.
 */
#ifndef FAKE_VERSION
#define FAKE_VERSION 12030
#endif
#ifndef FAKE_INIT
#define FAKE_INIT 0
#endif
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 2
#endif

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned cuDriverGetVersion(int *version);
EXPORT unsigned cuDeviceGetCount(int *count);
EXPORT unsigned cuDeviceGet(int *device, int ordinal);
EXPORT unsigned cuStreamWriteValue32(void *stream, unsigned long long at, unsigned value,
                                     unsigned flags);
EXPORT unsigned cuFuncGetParamInfo(void *fn, unsigned long index, unsigned long *offset,
                                   unsigned long *size);

#ifndef FAKE_NO_INIT
EXPORT unsigned cuInit(unsigned flags);

unsigned cuInit(unsigned flags)
{
    (void)flags;
    return FAKE_INIT;
}
#endif

unsigned cuDriverGetVersion(int *version)
{
    *version = FAKE_VERSION;
    return 0;
}

unsigned cuDeviceGetCount(int *count)
{
    *count = FAKE_DEVICES;
    return 0;
}

unsigned cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

/* The older form of a call that has a newer one; returns 32, which tells the two apart. */
unsigned cuStreamWriteValue32(void *stream, unsigned long long at, unsigned value, unsigned flags)
{
    (void)stream, (void)at, (void)value, (void)flags;
    return 32;
}

/* Newer than FAKE_VERSION: there, but not to be used. */
unsigned cuFuncGetParamInfo(void *fn, unsigned long index, unsigned long *offset,
                            unsigned long *size)
{
    (void)fn, (void)index, (void)offset, (void)size;
    return 0;
}

#ifdef FAKE_NEEDS
EXPORT int fake_needs(void);
int fake_gone(void);

int fake_needs(void)
{
    return fake_gone();
}
#endif
#ifdef FAKE_GONE
EXPORT int fake_gone(void);

int fake_gone(void)
{
    return 1;
}
#endif
