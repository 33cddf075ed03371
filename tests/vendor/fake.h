/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What libraries that pose as a vendor's have in common: they compute on the host, in stream order,
 * by host functions of the software device, which graphs can hold too. Each of them exports
 * fake_driver_of.
 */
#ifndef ACUDA_TESTS_FAKE_H
#define ACUDA_TESTS_FAKE_H

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct fake_driver {
    /* Set by the test: the driver's way to run something on a stream, where an address is on the
     * host (`read`: for what only reads there), whether it may be touched, and whether the stream
     * is being captured. */
    unsigned (*launch)(void *stream, void (*fn)(void *), void *user);
    char *(*host)(uint64_t address);
    char *(*read)(uint64_t address);
    bool (*valid)(uint64_t address, uint64_t bytes);
    bool (*captured)(void *stream);
    _Atomic(bool) less; /* what only newer versions, or GPUs, have is not supported */
    _Atomic(int) fail_create, fail_call; /* the status to be answered; 0: none */

    _Atomic(int) created, destroyed, calls, done;
    _Atomic(int) handles; /* of those that were created, where there is more than handles; of
                           * cuBLASLt: questions for an algorithm */
    _Atomic(int) refused;  /* wrong arguments, or memory that is not there */
    _Atomic(int) overlaps; /* a handle in use by two threads */
    _Atomic(uint64_t) workspace; /* bytes that the last call of cuBLAS was given */
    _Atomic(int) ways; /* of cuDNN: 1 << each engine that was called */
    /* Of cuDNN: called while a handle is made, and while a call has one; NULL: not. */
    void (*_Atomic(creating))(void);
    void (*_Atomic(calling))(void);
} fake_driver;

fake_driver *fake_driver_of(void);

/* ---- work on a stream ---- */

typedef struct fake_job {
    struct fake_job *next; /* of those that graphs run again and again, and that stay */
    void (*run)(fake_driver *driver, const void *data);
    bool captured;
    _Alignas(16) char data[];
} fake_job;

static inline void fake_run(void *user)
{
    fake_job *job = user;
    job->run(fake_driver_of(), job->data);
    atomic_fetch_add(&fake_driver_of()->done, 1);
    if (!job->captured)
        free(job);
}

/* 0, or `failed`. The data is copied. */
static inline int fake_enqueue(void *stream, void (*run)(fake_driver *, const void *),
                               const void *data, size_t bytes, int failed)
{
    static _Atomic(fake_job *) kept;
    fake_driver *driver = fake_driver_of();
    fake_job *job = malloc(sizeof *job + bytes);
    if (!job)
        return failed;
    job->run = run;
    job->captured = driver->captured(stream);
    job->next = NULL;
    memcpy(job->data, data, bytes);
    if (job->captured) { /* so that it is not a leak */
        job->next = atomic_load(&kept);
        while (!atomic_compare_exchange_weak(&kept, &job->next, job)) {
        }
    }
    atomic_fetch_add(&driver->calls, 1);
    if (driver->launch(stream, fake_run, job) == 0)
        return 0;
    if (!job->captured)
        free(job);
    return failed;
}

/* Where the memory is on the host; NULL, and counted, if it is not the device's. */
static inline char *fake_memory(fake_driver *driver, const void *at, uint64_t bytes)
{
    if (driver->valid((uintptr_t)at, bytes))
        return driver->host((uintptr_t)at);
    atomic_fetch_add(&driver->refused, 1);
    return NULL;
}

/* The same for what the library only reads: others may read it at the same time. */
static inline char *fake_input(fake_driver *driver, const void *at, uint64_t bytes)
{
    if (driver->valid((uintptr_t)at, bytes))
        return driver->read((uintptr_t)at);
    atomic_fetch_add(&driver->refused, 1);
    return NULL;
}

/* ---- numbers, by the types of CUDA's libraries ---- */

enum { FAKE_R_32F = 0, FAKE_R_64F = 1, FAKE_R_16F = 2, FAKE_R_16BF = 14 };
enum { FAKE_R_8I = 3, FAKE_R_32I = 10, FAKE_R_8F_E4M3 = 28, FAKE_R_8F_E5M2 = 29 };

static inline size_t fake_size(int type)
{
    switch (type) {
    case FAKE_R_64F:
        return 8;
    case FAKE_R_32F:
    case FAKE_R_32I:
        return 4;
    case FAKE_R_8I:
    case FAKE_R_8F_E4M3:
    case FAKE_R_8F_E5M2:
        return 1;
    default:
        return 2;
    }
}

/* A 16-bit format: the bits of its fraction are given, and the bias of its exponent. */
static inline double fake_small_at(uint16_t bits, int fraction, int bias)
{
    int exponent = (bits & 0x7fff) >> fraction, rest = bits & ((1 << fraction) - 1);
    double size = exponent ? ldexp(rest + (1 << fraction), exponent - bias - fraction)
                           : ldexp(rest, 1 - bias - fraction);
    return bits >> 15 ? -size : size;
}

static inline uint16_t fake_small_of(double value, int fraction, int bias)
{
    int exponent;
    frexp(value, &exponent); /* in [1/2, 1) */
    int e = value == 0 || exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double units = nearbyint(ldexp(fabs(value), fraction - e));
    uint32_t bits = (uint32_t)units + ((uint32_t)(e + bias - 1) << fraction);
    return (uint16_t)(bits | (signbit(value) ? 0x8000u : 0u));
}

/* Of 8 bits. */
static inline double fake_tiny_at(uint8_t bits, int fraction, int bias)
{
    double size = fake_small_at(bits & 0x7f, fraction, bias);
    return bits >> 7 ? -size : size;
}

static inline double fake_get(int type, const char *base, long long i)
{
    const char *at = base + i * (long long)fake_size(type);
    uint16_t bits;
    int32_t whole;
    double wide;
    float value;
    switch (type) {
    case FAKE_R_8I:
        return (int8_t)*at;
    case FAKE_R_8F_E4M3:
        return fake_tiny_at((uint8_t)*at, 3, 7);
    case FAKE_R_8F_E5M2:
        return fake_tiny_at((uint8_t)*at, 2, 15);
    case FAKE_R_32I:
        memcpy(&whole, at, sizeof whole);
        return whole;
    case FAKE_R_64F:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case FAKE_R_32F:
        memcpy(&value, at, sizeof value);
        return (double)value;
    default:
        memcpy(&bits, at, sizeof bits);
        return type == FAKE_R_16F ? fake_small_at(bits, 10, 15) : fake_small_at(bits, 7, 127);
    }
}

/* e4m3, of at most 448. */
static inline uint8_t fake_tiny_of(double value)
{
    double size = fmin(fabs(value), 448);
    return (uint8_t)(fake_small_of(size, 3, 7) | (signbit(value) ? 0x80 : 0));
}

static inline void fake_put(int type, char *base, long long i, double wide)
{
    char *at = base + i * (long long)fake_size(type);
    float value = (float)wide;
    int32_t whole = type == FAKE_R_32I ? (int32_t)wide : 0;
    uint16_t bits = type == FAKE_R_16F ? fake_small_of(wide, 10, 15) : fake_small_of(wide, 7, 127);
    if (type == FAKE_R_64F)
        memcpy(at, &wide, sizeof wide);
    else if (type == FAKE_R_32F)
        memcpy(at, &value, sizeof value);
    else if (type == FAKE_R_32I)
        memcpy(at, &whole, sizeof whole);
    else if (type == FAKE_R_8F_E4M3)
        *(uint8_t *)at = fake_tiny_of(wide);
    else
        memcpy(at, &bits, sizeof bits);
}

#endif
