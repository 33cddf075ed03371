/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A module of small kernels, by hand, that any driver of any supported age loads. */
#ifndef TESTS_KERNEL_KERNELS_PTX_H
#define TESTS_KERNEL_KERNELS_PTX_H

#define PTX_HEAD ".version 6.3\n.target sm_75\n.address_size 64\n"

/* out[i] = a; bounded to 128 threads a block; 16 bytes of shared memory;
 * a struct; no parameters. */
static const char kernels_ptx[] = PTX_HEAD
    ".visible .entry set(.param .u64 set_out, .param .f32 set_a)\n"
    "{\n"
    "    .reg .b64 %rd<4>;\n"
    "    .reg .b32 %r<5>;\n"
    "    .reg .f32 %f<2>;\n"
    "    ld.param.u64 %rd1, [set_out];\n"
    "    ld.param.f32 %f1, [set_a];\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "    mul.wide.u32 %rd2, %r4, 4;\n"
    "    add.s64 %rd3, %rd1, %rd2;\n"
    "    st.global.f32 [%rd3], %f1;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry bounded(.param .u32 bounded_n)\n"
    ".maxntid 128, 1, 1\n"
    "{\n"
    "    ret;\n"
    "}\n"
    ".visible .entry shared(.param .u64 shared_out)\n"
    "{\n"
    "    .shared .align 4 .b8 cell[16];\n"
    "    .reg .b32 %r<3>;\n"
    "    .reg .b64 %rd<2>;\n"
    "    mov.u32 %r1, %tid.x;\n"
    "    st.volatile.shared.u32 [cell], %r1;\n"
    "    ld.volatile.shared.u32 %r2, [cell];\n"
    "    ld.param.u64 %rd1, [shared_out];\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n"
    "    st.global.u32 [%rd1], %r2;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry tiled(.param .align 8 .b8 tiled_t[112], .param .u64 tiled_in, .param .u8 tiled_c)\n"
    "{\n"
    "    ret;\n"
    "}\n"
    ".visible .entry empty()\n"
    "{\n"
    "    ret;\n"
    "}\n";

#endif
