/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel of the program beside: adds 1 to n words. */
#ifndef TESTS_SOFTCUDA_STANDIN_KERNEL_H
#define TESTS_SOFTCUDA_STANDIN_KERNEL_H

static const char kernel_ptx[] =
    ".version 6.3\n.target sm_60\n.address_size 64\n"
    ".visible .entry add_one(.param .u64 p, .param .u32 n)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<8>;\n    .reg .b64 %rd<5>;\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.s32 %r4, %r1, %r2, %r3;\n    ld.param.u32 %r5, [n];\n"
    "    setp.ge.u32 %p1, %r4, %r5;\n    @%p1 bra DONE;\n"
    "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    mul.wide.u32 %rd3, %r4, 4;\n    add.s64 %rd4, %rd2, %rd3;\n"
    "    ld.global.u32 %r6, [%rd4];\n    add.s32 %r7, %r6, 1;\n    st.global.u32 [%rd4], %r7;\n"
    "DONE:\n    ret;\n}\n";

#endif
