/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The words of PTX, each written once: types, state spaces, base opcodes, modifiers and special
 * registers. Enums, spellings and look-up tables are all made from these lists.
 */
#ifndef SOFTCUDA_PTX_PTX_LISTS_H
#define SOFTCUDA_PTX_PTX_LISTS_H

/* X(NAME, spelling after the dot, bits of one element, class: b bits, u unsigned, s signed,
   f float, p predicate, o opaque) */
#define PTX_TYPE_LIST(X) \
    X(B8, "b8", 8, 'b') \
    X(B16, "b16", 16, 'b') \
    X(B32, "b32", 32, 'b') \
    X(B64, "b64", 64, 'b') \
    X(B128, "b128", 128, 'b') \
    X(U8, "u8", 8, 'u') \
    X(U16, "u16", 16, 'u') \
    X(U32, "u32", 32, 'u') \
    X(U64, "u64", 64, 'u') \
    X(S8, "s8", 8, 's') \
    X(S16, "s16", 16, 's') \
    X(S32, "s32", 32, 's') \
    X(S64, "s64", 64, 's') \
    X(U16X2, "u16x2", 32, 'u') \
    X(S16X2, "s16x2", 32, 's') \
    X(F16, "f16", 16, 'f') \
    X(F16X2, "f16x2", 32, 'f') \
    X(BF16, "bf16", 16, 'f') \
    X(BF16X2, "bf16x2", 32, 'f') \
    X(TF32, "tf32", 32, 'f') \
    X(F32, "f32", 32, 'f') \
    X(F32X2, "f32x2", 64, 'f') \
    X(F64, "f64", 64, 'f') \
    X(E4M3, "e4m3", 8, 'f') \
    X(E5M2, "e5m2", 8, 'f') \
    X(E4M3X2, "e4m3x2", 16, 'f') \
    X(E5M2X2, "e5m2x2", 16, 'f') \
    X(E4M3X4, "e4m3x4", 32, 'f') \
    X(E5M2X4, "e5m2x4", 32, 'f') \
    X(E2M1X2, "e2m1x2", 8, 'f') \
    X(E2M3X2, "e2m3x2", 16, 'f') \
    X(E3M2X2, "e3m2x2", 16, 'f') \
    X(UE8M0X2, "ue8m0x2", 16, 'f') \
    X(U4, "u4", 4, 'u') \
    X(S4, "s4", 4, 's') \
    X(B1, "b1", 1, 'b') \
    X(PRED, "pred", 1, 'p') \
    X(TEXREF, "texref", 64, 'o') \
    X(SAMPLERREF, "samplerref", 64, 'o') \
    X(SURFREF, "surfref", 64, 'o')

/* X(NAME, spelling): as it stands in opcodes; declarations know REG, CONST, GLOBAL, LOCAL, PARAM,
   SHARED. */
#define PTX_SPACE_LIST(X) \
    X(REG, "reg") \
    X(SREG, "sreg") \
    X(CONST, "const") \
    X(GLOBAL, "global") \
    X(LOCAL, "local") \
    X(PARAM, "param") \
    X(PARAM_ENTRY, "param::entry") \
    X(PARAM_FUNC, "param::func") \
    X(SHARED, "shared") \
    X(SHARED_CTA, "shared::cta") \
    X(SHARED_CLUSTER, "shared::cluster") \
    X(TEX, "tex")

/* X(NAME, spelling) */
#define PTX_OP_LIST(X) \
    X(ABS, "abs") \
    X(ACTIVEMASK, "activemask") \
    X(ADD, "add") \
    X(ADDC, "addc") \
    X(ALLOCA, "alloca") \
    X(AND, "and") \
    X(APPLYPRIORITY, "applypriority") \
    X(ATOM, "atom") \
    X(BAR, "bar") \
    X(BARRIER, "barrier") \
    X(BFE, "bfe") \
    X(BFI, "bfi") \
    X(BFIND, "bfind") \
    X(BMSK, "bmsk") \
    X(BRA, "bra") \
    X(BREV, "brev") \
    X(BRKPT, "brkpt") \
    X(BRX, "brx") \
    X(CALL, "call") \
    X(CLUSTERLAUNCHCONTROL, "clusterlaunchcontrol") \
    X(CLZ, "clz") \
    X(CNOT, "cnot") \
    X(COPYSIGN, "copysign") \
    X(COS, "cos") \
    X(CP, "cp") \
    X(CREATEPOLICY, "createpolicy") \
    X(CVT, "cvt") \
    X(CVTA, "cvta") \
    X(DISCARD, "discard") \
    X(DIV, "div") \
    X(DP2A, "dp2a") \
    X(DP4A, "dp4a") \
    X(ELECT, "elect") \
    X(EX2, "ex2") \
    X(EXIT, "exit") \
    X(FENCE, "fence") \
    X(FMA, "fma") \
    X(FNS, "fns") \
    X(GETCTARANK, "getctarank") \
    X(GRIDDEPCONTROL, "griddepcontrol") \
    X(ISSPACEP, "isspacep") \
    X(ISTYPEP, "istypep") \
    X(LD, "ld") \
    X(LDMATRIX, "ldmatrix") \
    X(LDU, "ldu") \
    X(LG2, "lg2") \
    X(LOP3, "lop3") \
    X(MAD, "mad") \
    X(MAD24, "mad24") \
    X(MADC, "madc") \
    X(MAPA, "mapa") \
    X(MATCH, "match") \
    X(MAX, "max") \
    X(MBARRIER, "mbarrier") \
    X(MEMBAR, "membar") \
    X(MIN, "min") \
    X(MMA, "mma") \
    X(MOV, "mov") \
    X(MOVMATRIX, "movmatrix") \
    X(MUL, "mul") \
    X(MUL24, "mul24") \
    X(MULTIMEM, "multimem") \
    X(NANOSLEEP, "nanosleep") \
    X(NEG, "neg") \
    X(NOT, "not") \
    X(OR, "or") \
    X(PMEVENT, "pmevent") \
    X(POPC, "popc") \
    X(PREFETCH, "prefetch") \
    X(PREFETCHU, "prefetchu") \
    X(PRMT, "prmt") \
    X(RCP, "rcp") \
    X(RED, "red") \
    X(REDUX, "redux") \
    X(REM, "rem") \
    X(RET, "ret") \
    X(RSQRT, "rsqrt") \
    X(SAD, "sad") \
    X(SELP, "selp") \
    X(SET, "set") \
    X(SETMAXNREG, "setmaxnreg") \
    X(SETP, "setp") \
    X(SHF, "shf") \
    X(SHFL, "shfl") \
    X(SHL, "shl") \
    X(SHR, "shr") \
    X(SIN, "sin") \
    X(SLCT, "slct") \
    X(SQRT, "sqrt") \
    X(ST, "st") \
    X(STACKRESTORE, "stackrestore") \
    X(STACKSAVE, "stacksave") \
    X(STMATRIX, "stmatrix") \
    X(SUB, "sub") \
    X(SUBC, "subc") \
    X(SULD, "suld") \
    X(SUQ, "suq") \
    X(SURED, "sured") \
    X(SUST, "sust") \
    X(SZEXT, "szext") \
    X(TANH, "tanh") \
    X(TCGEN05, "tcgen05") \
    X(TENSORMAP, "tensormap") \
    X(TESTP, "testp") \
    X(TEX, "tex") \
    X(TLD4, "tld4") \
    X(TRAP, "trap") \
    X(TXQ, "txq") \
    X(VABSDIFF, "vabsdiff") \
    X(VABSDIFF2, "vabsdiff2") \
    X(VABSDIFF4, "vabsdiff4") \
    X(VADD, "vadd") \
    X(VADD2, "vadd2") \
    X(VADD4, "vadd4") \
    X(VAVRG2, "vavrg2") \
    X(VAVRG4, "vavrg4") \
    X(VMAD, "vmad") \
    X(VMAX, "vmax") \
    X(VMAX2, "vmax2") \
    X(VMAX4, "vmax4") \
    X(VMIN, "vmin") \
    X(VMIN2, "vmin2") \
    X(VMIN4, "vmin4") \
    X(VOTE, "vote") \
    X(VSET, "vset") \
    X(VSET2, "vset2") \
    X(VSET4, "vset4") \
    X(VSHL, "vshl") \
    X(VSHR, "vshr") \
    X(VSUB, "vsub") \
    X(VSUB2, "vsub2") \
    X(VSUB4, "vsub4") \
    X(WGMMA, "wgmma") \
    X(WMMA, "wmma") \
    X(XOR, "xor")

/* X(NAME, spelling): every modifier that is neither a type nor a state space. L1:: and L2:: cache
   hints all become CACHE_HINT; a word not listed becomes OTHER (see ptx_inst.name). */
#define PTX_MOD_LIST(X) \
    /* rounding, saturation, precision */ \
    X(RN, "rn") \
    X(RZ, "rz") \
    X(RM, "rm") \
    X(RP, "rp") \
    X(RNA, "rna") \
    X(RS, "rs") \
    X(RNI, "rni") \
    X(RZI, "rzi") \
    X(RMI, "rmi") \
    X(RPI, "rpi") \
    X(FTZ, "ftz") \
    X(SAT, "sat") \
    X(SATFINITE, "satfinite") \
    X(APPROX, "approx") \
    X(FULL, "full") \
    X(RELU, "relu") \
    X(NAN, "NaN") \
    X(XORSIGN, "xorsign") \
    X(NOFTZ, "noftz") \
    X(OOB, "oob") \
    X(SCALED, "scaled") \
    X(PACK, "pack") \
    /* integer forms */ \
    X(LO, "lo") \
    X(HI, "hi") \
    X(WIDE, "wide") \
    X(CC, "cc") \
    X(SHIFTAMT, "shiftamt") \
    X(L, "l") \
    X(R, "r") \
    X(CLAMP, "clamp") \
    X(WRAP, "wrap") \
    X(F4E, "f4e") \
    X(B4E, "b4e") \
    X(RC8, "rc8") \
    X(ECL, "ecl") \
    X(ECR, "ecr") \
    X(RC16, "rc16") \
    X(PO, "po") \
    X(SHR7, "shr7") \
    X(SHR15, "shr15") \
    X(BYTE0, "b0") \
    X(BYTE1, "b1") \
    X(BYTE2, "b2") \
    X(BYTE3, "b3") \
    X(HALF0, "h0") \
    X(HALF1, "h1") \
    /* comparisons */ \
    X(EQ, "eq") \
    X(NE, "ne") \
    X(LT, "lt") \
    X(LE, "le") \
    X(GT, "gt") \
    X(GE, "ge") \
    X(LS, "ls") \
    X(HS, "hs") \
    X(EQU, "equ") \
    X(NEU, "neu") \
    X(LTU, "ltu") \
    X(LEU, "leu") \
    X(GTU, "gtu") \
    X(GEU, "geu") \
    X(NUM, "num") \
    X(ISNAN, "nan") \
    /* testp */ \
    X(FINITE, "finite") \
    X(INFINITE, "infinite") \
    X(NUMBER, "number") \
    X(NOTANUMBER, "notanumber") \
    X(NORMAL, "normal") \
    X(SUBNORMAL, "subnormal") \
    /* operations named in modifiers: setp, atom, red, redux, bar.red, lop3, vadd */ \
    X(AND, "and") \
    X(OR, "or") \
    X(XOR, "xor") \
    X(ADD, "add") \
    X(SUB, "sub") \
    X(INC, "inc") \
    X(DEC, "dec") \
    X(MIN, "min") \
    X(MAX, "max") \
    X(EXCH, "exch") \
    X(CAS, "cas") \
    X(POPC, "popc") \
    X(ABS, "abs") \
    /* memory: caching, order, scope, width */ \
    X(CA, "ca") \
    X(CG, "cg") \
    X(CS, "cs") \
    X(LU, "lu") \
    X(CV, "cv") \
    X(WB, "wb") \
    X(WT, "wt") \
    X(NC, "nc") \
    X(VOLATILE, "volatile") \
    X(WEAK, "weak") \
    X(RELAXED, "relaxed") \
    X(ACQUIRE, "acquire") \
    X(RELEASE, "release") \
    X(ACQ_REL, "acq_rel") \
    X(SC, "sc") \
    X(MMIO, "mmio") \
    X(UNIFIED, "unified") \
    X(CTA, "cta") \
    X(CLUSTER, "cluster") \
    X(GPU, "gpu") \
    X(SYS, "sys") \
    X(GL, "gl") \
    X(V2, "v2") \
    X(V4, "v4") \
    X(V8, "v8") \
    X(L1, "L1") \
    X(L2, "L2") \
    X(CACHE_HINT, "L2::cache_hint") \
    X(EVICT_FIRST, "evict_first") \
    X(EVICT_LAST, "evict_last") \
    X(EVICT_NORMAL, "evict_normal") \
    X(FRACTIONAL, "fractional") \
    X(RANGE, "range") \
    X(PROXY, "proxy") \
    X(ALIAS, "alias") \
    X(PTR, "ptr") \
    X(TO, "to") \
    /* warps, barriers, control flow */ \
    X(SYNC, "sync") \
    X(ALIGNED, "aligned") \
    X(UNI, "uni") \
    X(ALL, "all") \
    X(ANY, "any") \
    X(BALLOT, "ballot") \
    X(UP, "up") \
    X(DOWN, "down") \
    X(BFLY, "bfly") \
    X(IDX, "idx") \
    X(ARRIVE, "arrive") \
    X(RED, "red") \
    X(WARP, "warp") \
    X(MASK, "mask") \
    /* asynchronous copies and mbarriers */ \
    X(ASYNC, "async") \
    X(BULK, "bulk") \
    X(TENSOR, "tensor") \
    X(REDUCE, "reduce") \
    X(PREFETCH, "prefetch") \
    X(COMMIT_GROUP, "commit_group") \
    X(WAIT_GROUP, "wait_group") \
    X(WAIT_ALL, "wait_all") \
    X(WAIT, "wait") \
    X(READ, "read") \
    X(MBARRIER, "mbarrier") \
    X(INIT, "init") \
    X(INVAL, "inval") \
    X(TEST_WAIT, "test_wait") \
    X(TRY_WAIT, "try_wait") \
    X(ARRIVE_DROP, "arrive_drop") \
    X(PENDING_COUNT, "pending_count") \
    X(EXPECT_TX, "expect_tx") \
    X(COMPLETE_TX, "complete_tx") \
    X(NOCOMPLETE, "noComplete") \
    X(NOINC, "noinc") \
    X(COMPLETE_BYTES, "mbarrier::complete_tx::bytes") \
    X(BULK_GROUP, "bulk_group") \
    X(MBARRIER_INIT, "mbarrier_init") \
    X(PARITY, "parity") \
    X(LAUNCH_DEPENDENTS, "launch_dependents") \
    /* matrices */ \
    X(LOAD, "load") \
    X(STORE, "store") \
    X(MMA, "mma") \
    X(MATRIX_A, "a") \
    X(MATRIX_B, "b") \
    X(MATRIX_C, "c") \
    X(MATRIX_D, "d") \
    X(ROW, "row") \
    X(COL, "col") \
    X(TRANS, "trans") \
    X(X1, "x1") \
    X(X2, "x2") \
    X(X4, "x4") \
    X(M8N8, "m8n8") \
    X(M8N8K4, "m8n8k4") \
    X(M8N8K16, "m8n8k16") \
    X(M8N8K32, "m8n8k32") \
    X(M8N8K128, "m8n8k128") \
    X(M8N32K16, "m8n32k16") \
    X(M32N8K16, "m32n8k16") \
    X(M16N16K8, "m16n16k8") \
    X(M16N16K16, "m16n16k16") \
    X(M16N8K4, "m16n8k4") \
    X(M16N8K8, "m16n8k8") \
    X(M16N8K16, "m16n8k16") \
    X(M16N8K32, "m16n8k32") \
    X(M16N8K64, "m16n8k64") \
    X(M16N8K128, "m16n8k128") \
    X(M16N8K256, "m16n8k256") \
    /* textures and surfaces */ \
    X(1D, "1d") \
    X(2D, "2d") \
    X(3D, "3d") \
    X(A1D, "a1d") \
    X(A2D, "a2d") \
    X(CUBE, "cube") \
    X(LEVEL, "level") \
    X(GRAD, "grad") \
    X(TRAP, "trap") \
    X(ZERO, "zero") \
    X(WIDTH, "width") \
    X(HEIGHT, "height") \
    X(DEPTH, "depth")

/* X(NAME, spelling, type) */
#define PTX_SPECIAL_LIST(X) \
    X(TID_X, "%tid.x", U32) \
    X(TID_Y, "%tid.y", U32) \
    X(TID_Z, "%tid.z", U32) \
    X(NTID_X, "%ntid.x", U32) \
    X(NTID_Y, "%ntid.y", U32) \
    X(NTID_Z, "%ntid.z", U32) \
    X(CTAID_X, "%ctaid.x", U32) \
    X(CTAID_Y, "%ctaid.y", U32) \
    X(CTAID_Z, "%ctaid.z", U32) \
    X(NCTAID_X, "%nctaid.x", U32) \
    X(NCTAID_Y, "%nctaid.y", U32) \
    X(NCTAID_Z, "%nctaid.z", U32) \
    X(LANEID, "%laneid", U32) \
    X(WARPID, "%warpid", U32) \
    X(NWARPID, "%nwarpid", U32) \
    X(SMID, "%smid", U32) \
    X(NSMID, "%nsmid", U32) \
    X(GRIDID, "%gridid", U64) \
    X(LANEMASK_EQ, "%lanemask_eq", U32) \
    X(LANEMASK_LE, "%lanemask_le", U32) \
    X(LANEMASK_LT, "%lanemask_lt", U32) \
    X(LANEMASK_GE, "%lanemask_ge", U32) \
    X(LANEMASK_GT, "%lanemask_gt", U32) \
    X(CLOCK, "%clock", U32) \
    X(CLOCK_HI, "%clock_hi", U32) \
    X(CLOCK64, "%clock64", U64) \
    X(GLOBALTIMER, "%globaltimer", U64) \
    X(GLOBALTIMER_LO, "%globaltimer_lo", U32) \
    X(GLOBALTIMER_HI, "%globaltimer_hi", U32) \
    X(TOTAL_SMEM_SIZE, "%total_smem_size", U32) \
    X(AGGR_SMEM_SIZE, "%aggr_smem_size", U32) \
    X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size", U32) \
    X(RESERVED_SMEM_BEGIN, "%reserved_smem_offset_begin", B32) \
    X(RESERVED_SMEM_END, "%reserved_smem_offset_end", B32) \
    X(RESERVED_SMEM_CAP, "%reserved_smem_offset_cap", B32) \
    X(RESERVED_SMEM_0, "%reserved_smem_offset_0", B32) \
    X(RESERVED_SMEM_1, "%reserved_smem_offset_1", B32) \
    X(CURRENT_GRAPH_EXEC, "%current_graph_exec", U64) \
    X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", PRED) \
    X(CLUSTERID_X, "%clusterid.x", U32) \
    X(CLUSTERID_Y, "%clusterid.y", U32) \
    X(CLUSTERID_Z, "%clusterid.z", U32) \
    X(NCLUSTERID_X, "%nclusterid.x", U32) \
    X(NCLUSTERID_Y, "%nclusterid.y", U32) \
    X(NCLUSTERID_Z, "%nclusterid.z", U32) \
    X(CLUSTER_CTAID_X, "%cluster_ctaid.x", U32) \
    X(CLUSTER_CTAID_Y, "%cluster_ctaid.y", U32) \
    X(CLUSTER_CTAID_Z, "%cluster_ctaid.z", U32) \
    X(CLUSTER_NCTAID_X, "%cluster_nctaid.x", U32) \
    X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y", U32) \
    X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z", U32) \
    X(CLUSTER_CTARANK, "%cluster_ctarank", U32) \
    X(CLUSTER_NCTARANK, "%cluster_nctarank", U32)

#endif
