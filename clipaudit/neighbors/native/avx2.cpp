// Products in float32 by AVX2 and FMA, with F16C to read float16: any x86 since 2013.

#include <immintrin.h>

#include "lanes.h"

namespace neighbors {
namespace {

struct Lanes {
    static constexpr int WIDTH = 8;
    using Register = __m256;
    using Mask = __m256;

    static ALWAYS_INLINE __m256 load(const float *x) { return _mm256_loadu_ps(x); }
    static ALWAYS_INLINE void store(float *x, __m256 a) { _mm256_storeu_ps(x, a); }
    static ALWAYS_INLINE __m256 all(float x) { return _mm256_set1_ps(x); }
    static ALWAYS_INLINE __m256 min(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
    static ALWAYS_INLINE __m256 subtract(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
    static ALWAYS_INLINE __m256 multiply(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
    static ALWAYS_INLINE __m256 fma(__m256 a, __m256 b, __m256 c) {
        return _mm256_fmadd_ps(a, b, c);
    }
    static ALWAYS_INLINE Mask reaches(__m256 a, __m256 b) {
        return _mm256_cmp_ps(a, b, _CMP_GE_OQ);
    }
    static ALWAYS_INLINE Mask either(Mask a, Mask b) { return _mm256_or_ps(a, b); }
    static ALWAYS_INLINE bool any(const Mask (&masks)[4]) {
        return _mm256_movemask_ps(either(either(masks[0], masks[1]), either(masks[2], masks[3])));
    }
    static ALWAYS_INLINE uint32_t bits(const Mask (&masks)[4]) {
        uint32_t bits = 0;
        for (int i = 0; i < 4; i++) bits |= uint32_t(_mm256_movemask_ps(masks[i])) << i * WIDTH;
        return bits;
    }
    static ALWAYS_INLINE float sum(__m256 a) { return float(sum(add(low(a), high(a)))); }
    static ALWAYS_INLINE __m256 widen(const half *x) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x)));
    }
    static ALWAYS_INLINE __m256d zeros() { return _mm256_setzero_pd(); }
    static ALWAYS_INLINE __m256d add(__m256d a, __m256d b) { return _mm256_add_pd(a, b); }
    static ALWAYS_INLINE __m256d low(__m256 a) {
        return _mm256_cvtps_pd(_mm256_castps256_ps128(a));
    }
    static ALWAYS_INLINE __m256d high(__m256 a) {
        return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
    }
    static ALWAYS_INLINE double sum(__m256d a) {
        double parts[4];
        _mm256_storeu_pd(parts, a);
        return parts[0] + parts[1] + (parts[2] + parts[3]);
    }
};

struct Float32 {
    static constexpr int BYTES = 4;
    static ALWAYS_INLINE void convert(const half *x, float scale, uint8_t *line) {
        auto out = reinterpret_cast<float *>(line);
        _mm256_store_ps(out, scaled<Lanes>(x, scale));
        _mm256_store_ps(out + 8, scaled<Lanes>(x + 8, scale));
    }
    static ALWAYS_INLINE __m256 lost(__m256) { return _mm256_setzero_ps(); }
};

// 4 rows x 16 queries: 8 sums fill 2 products per cycle with a latency of 4, and 6 loads feed 8.
constexpr int ROWS = 4;
constexpr int CHUNK = 6;  // steps: 12 KB of rows and as much of queries, both in an L1 of 32 KB

// Adds a chunk's products to the scores of some rows and a tile of queries.
ALWAYS_INLINE void accumulate(const uint8_t *row, const uint8_t *query, int steps, float *scores) {
    __m256 sums[ROWS][2];
    for (int i = 0; i < ROWS; i++) {
        sums[i][0] = _mm256_load_ps(scores + i * BLOCK);
        sums[i][1] = _mm256_load_ps(scores + i * BLOCK + Lanes::WIDTH);
    }
    for (int step = 0; step < steps; step++, row += STEP, query += STEP)
        for (int unit = 0; unit < LANE; unit++) {
            auto numbers = reinterpret_cast<const float *>(query + unit * 64);
            const __m256 left = _mm256_load_ps(numbers);
            const __m256 right = _mm256_load_ps(numbers + Lanes::WIDTH);
#pragma GCC unroll 4
            for (int i = 0; i < ROWS; i++) {
                const __m256 number = _mm256_broadcast_ss(
                    reinterpret_cast<const float *>(row + i * 64 + unit * 4));
                sums[i][0] = _mm256_fmadd_ps(number, left, sums[i][0]);
                sums[i][1] = _mm256_fmadd_ps(number, right, sums[i][1]);
            }
        }
    for (int i = 0; i < ROWS; i++) {
        _mm256_store_ps(scores + i * BLOCK, sums[i][0]);
        _mm256_store_ps(scores + i * BLOCK + Lanes::WIDTH, sums[i][1]);
    }
}

void multiply(const uint8_t *rows, const uint8_t *queries, int steps, float *scores) {
    for (int i = 0; i < BLOCK * BLOCK; i++) scores[i] = 0;
    for (; steps > 0; steps -= CHUNK, rows += CHUNK * STEP, queries += CHUNK * STEP)
        for (int tile = 0; tile < 2; tile++)
            for (int row = 0; row < BLOCK; row += ROWS)
                accumulate(rows + row / LANE * (STEP / 2) + row % LANE * 64,
                           queries + tile * STEP / 2, steps < CHUNK ? steps : CHUNK,
                           scores + row * BLOCK + tile * LANE);
}

}  // namespace

extern const Kernel avx2 = {
    "avx2", 4, nothing, nothing, lost<Lanes, Float32>, pack<Float32>,
    sweep_blocks<Lanes, multiply>, dot<Lanes>};

}  // namespace neighbors
