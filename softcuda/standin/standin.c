/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The stand-in libcuda.so.1: every symbol of the driver, as a jump to its implementation. Jumps
 * rather than C functions, because a jump passes on arguments that nobody here needs to know;
 * rather than aliases, because an alias must be in one file with its target.
 */
#include "driver/calls.h"

#include "driver/symbols.h"

#if defined(__x86_64__)
#define JUMP "jmp "
#elif defined(__aarch64__)
#define JUMP "b "
#else
#error "the stand-in libcuda.so.1 has no jump instruction for this processor yet"
#endif

#define EXPORT(symbol, implementation) \
    __asm__(".text\n" \
            ".p2align 4\n" \
            ".globl " #symbol "\n" \
            ".type " #symbol ", %function\n" #symbol ":\n" \
            "    " JUMP #implementation "\n" \
            ".size " #symbol ", . - " #symbol "\n");

#define ACUDA(name, symbol, since, effect, kind, parameters, arguments) EXPORT(symbol, sdf_##symbol)
#define MORE(symbol, since, parameters, arguments) EXPORT(symbol, sdf_##symbol)
#define OTHER(symbol, implementation, since) EXPORT(symbol, sdf_##implementation)
#define REST(symbol, since) EXPORT(symbol, sd_not_supported)

SD_ACUDA_CALLS(ACUDA)
SD_MORE_CALLS(MORE)
SD_OTHER_NAMES(OTHER)
SD_NOT_SUPPORTED(REST)
