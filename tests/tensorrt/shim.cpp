/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The one C++ file of a program that uses adapters/tensorrt.h; and what a test sees of the
 * stand-in. */
#include <acuda/adapters/tensorrt.hpp>

#include "shim.h"

standin standin_state;

extern "C" int standin_live(void)
{
    return standin_state.live;
}

extern "C" int standin_overlaps(void)
{
    return standin_state.overlaps;
}

extern "C" void standin_refuse(void)
{
    standin_state.refuse = true;
}
