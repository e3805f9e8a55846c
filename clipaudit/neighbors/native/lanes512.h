// Registers of 16 floats, for the files that are compiled for AVX-512.

#pragma once

#include <immintrin.h>

#include "lanes.h"

namespace neighbors {
namespace {

struct Lanes {
    static constexpr int WIDTH = 16;
    using Register = __m512;
    using Mask = __mmask16;

    static ALWAYS_INLINE __m512 load(const float *x) { return _mm512_loadu_ps(x); }
    static ALWAYS_INLINE void store(float *x, __m512 a) { _mm512_storeu_ps(x, a); }
    static ALWAYS_INLINE __m512 all(float x) { return _mm512_set1_ps(x); }
    static ALWAYS_INLINE __m512 min(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
    static ALWAYS_INLINE __m512 subtract(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
    static ALWAYS_INLINE __m512 multiply(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
    static ALWAYS_INLINE __m512 fma(__m512 a, __m512 b, __m512 c) {
        return _mm512_fmadd_ps(a, b, c);
    }
    static ALWAYS_INLINE Mask reaches(__m512 a, __m512 b) {
        return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
    }
    static ALWAYS_INLINE Mask either(Mask a, Mask b) { return _kor_mask16(a, b); }
    static ALWAYS_INLINE bool any(const Mask (&masks)[2]) {
        return !_kortestz_mask16_u8(masks[0], masks[1]);
    }
    static ALWAYS_INLINE uint32_t bits(const Mask (&masks)[2]) {
        return uint32_t(masks[0]) | uint32_t(masks[1]) << WIDTH;
    }
    static ALWAYS_INLINE float sum(__m512 a) { return _mm512_reduce_add_ps(a); }
    static ALWAYS_INLINE __m512 widen(const half *x) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(x)));
    }
    static ALWAYS_INLINE __m512d zeros() { return _mm512_setzero_pd(); }
    static ALWAYS_INLINE __m512d add(__m512d a, __m512d b) { return _mm512_add_pd(a, b); }
    static ALWAYS_INLINE __m512d low(__m512 a) {
        return _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    }
    static ALWAYS_INLINE __m512d high(__m512 a) {
        return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
    }
    static ALWAYS_INLINE double sum(__m512d a) { return _mm512_reduce_add_pd(a); }
};

#ifdef __AVX512BF16__
struct Bfloat16 {
    static constexpr int BYTES = 2;
    static ALWAYS_INLINE void convert(const half *x, float scale, void *line) {
        auto both = _mm512_cvtne2ps_pbh(scaled<Lanes>(x + 16, scale), scaled<Lanes>(x, scale));
        _mm512_store_si512(line, reinterpret_cast<__m512i &>(both));
    }
    static ALWAYS_INLINE __m512 lost(__m512 x) {
        auto low = _mm512_cvtneps_pbh(x);
        __m512i bits = _mm512_cvtepu16_epi32(reinterpret_cast<__m256i &>(low));
        return _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)));
    }
};
#endif

}  // namespace
}  // namespace neighbors
