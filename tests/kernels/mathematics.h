/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The functions of kernels/math_more.cuh: one list for the kernels that run them
 * (test_mathematics.cu) and the test that checks them (test_mathematics.c).
 *
 *     X(name, reference in long double, from, to, largest error in ulp of the double form, of the
 *       float form, hash of the bits of the results of the double form, of the float form)
 *
 * Arguments from `from` to `to` are compared; outside, the result has no digits that count.
 */
#ifndef ACUDA_TESTS_KERNELS_MATHEMATICS_H
#define ACUDA_TESTS_KERNELS_MATHEMATICS_H

#define ALL -INFINITY, INFINITY

#define MATHEMATICS_1(X) \
    X(acos, acosl, ALL, 1.0, 1.0, 0xf18d195e, 0x64882e1d) \
    X(asin, asinl, ALL, 1.5, 1.5, 0x783886ea, 0x487ba356) \
    X(atan, atanl, ALL, 1.0, 1.6, 0x82444c89, 0xd08eae60) \
    X(sinh, sinhl, ALL, 1.7, 2.3, 0x29843372, 0x7d78331d) \
    X(cosh, coshl, ALL, 1.3, 1.5, 0x988b64f9, 0x65b58ece) \
    X(asinh, asinhl, ALL, 1.6, 1.6, 0x1532759e, 0x4b33bdf3) \
    X(acosh, acoshl, ALL, 2.0, 2.0, 0x18ab2b5d, 0xa230f7a0) \
    X(atanh, atanhl, ALL, 1.6, 1.6, 0x7be6bc96, 0x399df5f8) \
    X(exp2, exp2l, ALL, 1.0, 1.0, 0x72ef87ec, 0x35a81bc8) \
    X(exp10, exp10_reference, ALL, 1.0, 0.51, 0xcf70cb34, 0x410f2731) \
    X(expm1, expm1l, ALL, 1.3, 1.6, 0xcc6d7d38, 0x81697032) \
    X(log2, log2l, ALL, 0.51, 1.6, 0x7a8820f8, 0xe168d920) \
    X(log10, log10l, ALL, 0.51, 1.6, 0x099b63f7, 0x6a4dd99f) \
    X(log1p, log1pl, ALL, 0.7, 1.6, 0x2a43a2fe, 0xdadecb49) \
    X(tan, tanl, ALL, 2.0, 3.5, 0x9bb07978, 0x2a6ac44d) \
    X(sinpi, sinpi_reference, ALL, 1.0, 0.51, 0xcbbf9fa7, 0x860c970e) \
    X(cospi, cospi_reference, ALL, 1.0, 0.51, 0x3554d872, 0x76d5420d) \
    X(cbrt, cbrtl, ALL, 0.51, 0.51, 0xb8efb13f, 0x49a9ede8) \
    X(rcbrt, rcbrt_reference, ALL, 0.51, 0.51, 0x1bc9e64d, 0xcc8e95f7) \
    X(erf, erfl, ALL, 1.6, 1.3, 0x3b2540d5, 0x380cef2f) \
    X(erfc, erfcl, ALL, 3.1, 0.51, 0xa0488f3b, 0x1d013ce7) \
    X(erfcx, erfcx_reference, ALL, 3.3, 0.51, 0x9ecb9f42, 0x6275c584) \
    X(erfinv, erfinv_reference, ALL, 2.5, 0.51, 0x5f570436, 0x161412ff) \
    X(erfcinv, erfcinv_reference, ALL, 2.5, 0.51, 0x0323faf7, 0x9fad2555) \
    X(normcdf, normcdf_reference, ALL, 4.5, 0.51, 0x4f95143c, 0xcafc4601) \
    X(normcdfinv, normcdfinv_reference, ALL, 4.0, 0.51, 0x1d43b981, 0xd6350018) \
    X(lgamma, lgammal, -1.9, INFINITY, 2.5, 0.52, 0x818ab686, 0xba05c5ba) \
    X(tgamma, tgammal, -160, INFINITY, 5.0, 0.51, 0xddf2fa15, 0x3a39218b) \
    X(j0, j0l, -8, 8, 6.0, 0.51, 0x69782765, 0xe77419eb) \
    X(j1, j1l, -8, 8, 6.0, 0.51, 0xc837fc61, 0x52d867ab) \
    X(y0, y0l, 0, 8, 6.0, 0.51, 0xb3dbee45, 0xf69d2ef1) \
    X(y1, y1l, 0, 8, 6.0, 0.51, 0xb5b65f99, 0x67b5d2e4) \
    X(cyl_bessel_i0, i0_reference, ALL, 4.0, 0.51, 0x23b2728b, 0x2862f1fa) \
    X(cyl_bessel_i1, i1_reference, ALL, 4.0, 0.51, 0x81c62a94, 0x04ac6ce8) \
    X(logb, logbl, ALL, 0.0, 0.0, 0x08d9350a, 0x9f2c876d) \
    X(nearbyint, rintl, ALL, 0.0, 0.0, 0x1c30bbe2, 0x498a5123)

/* Two arguments: X(name, reference, error of double, of float, hash of double, of float) */
#define MATHEMATICS_2(X) \
    X(atan2, atan2l, 1.0, 1.6, 0x02c70aa2, 0xf71cd4bd) \
    X(hypot, hypotl, 0.51, 0.51, 0x39125ba4, 0x6703b645) \
    X(rhypot, rhypot_reference, 0.51, 0.51, 0x79459381, 0xb82f3e84) \
    X(fmod, fmodl, 0.0, 0.0, 0xa428ab4b, 0xbcde8e48) \
    X(remainder, remainderl, 0.0, 0.0, 0xa985398c, 0x033f6fa4) \
    X(fdim, fdiml, 0.5, 0.5, 0x4cf7cf0c, 0xfb11731b) \
    X(nextafter, nextafter_reference, 0.0, 0.0, 0x02b8b9b8, 0xde11e64b)

#endif
