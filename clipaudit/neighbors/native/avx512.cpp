// Products in float32 by AVX-512, or in bfloat16 when compiled for AVX512-BF16.
//
// Compiled twice, so that the float32 kernel has no instruction that its machines lack.

#include "lanes512.h"

namespace neighbors {
namespace {

#ifdef __AVX512BF16__
using Number = Bfloat16;
ALWAYS_INLINE __m512 add_products(__m512 sum, __m512 a, __m512 b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh &>(a), reinterpret_cast<__m512bh &>(b));
}
#else
struct Number {
    static constexpr int BYTES = 4;
    static ALWAYS_INLINE void convert(const half *x, float scale, void *line) {
        _mm512_store_ps(line, scaled<Lanes>(x, scale));
    }
    static ALWAYS_INLINE __m512 lost(__m512) { return _mm512_setzero_ps(); }
};
ALWAYS_INLINE __m512 add_products(__m512 sum, __m512 a, __m512 b) {
    return _mm512_fmadd_ps(a, b, sum);
}
#endif

// 8 rows x 32 queries: 16 sums hide the latency of adding, and 10 loads feed 16 products.
constexpr int ROWS = 8;
constexpr int CHUNK = 8;  // steps: 16 KB of rows and as much of queries, both in the L1 cache

// Adds a chunk's products to the scores of some rows.
ALWAYS_INLINE void accumulate(const uint8_t *row, const uint8_t *query, int steps, float *scores) {
    __m512 sums[ROWS][2];
    for (int i = 0; i < ROWS; i++) {
        sums[i][0] = _mm512_load_ps(scores + i * BLOCK);
        sums[i][1] = _mm512_load_ps(scores + i * BLOCK + LANE);
    }
    for (int step = 0; step < steps; step++, row += STEP, query += STEP)
        for (int unit = 0; unit < LANE; unit++) {
            const __m512 left = _mm512_load_ps(query + unit * 64);
            const __m512 right = _mm512_load_ps(query + STEP / 2 + unit * 64);
#pragma GCC unroll 8
            for (int i = 0; i < ROWS; i++) {
                const __m512 number =
                    _mm512_set1_ps(*reinterpret_cast<const float *>(row + i * 64 + unit * 4));
                sums[i][0] = add_products(sums[i][0], number, left);
                sums[i][1] = add_products(sums[i][1], number, right);
            }
        }
    for (int i = 0; i < ROWS; i++) {
        _mm512_store_ps(scores + i * BLOCK, sums[i][0]);
        _mm512_store_ps(scores + i * BLOCK + LANE, sums[i][1]);
    }
}

void multiply(const uint8_t *rows, const uint8_t *queries, int steps, float *scores) {
    for (int i = 0; i < BLOCK * BLOCK; i++) scores[i] = 0;
    for (; steps > 0; steps -= CHUNK, rows += CHUNK * STEP, queries += CHUNK * STEP)
        for (int row = 0; row < BLOCK; row += ROWS)
            accumulate(rows + row / LANE * (STEP / 2) + row % LANE * 64, queries,
                       steps < CHUNK ? steps : CHUNK, scores + row * BLOCK);
}

}  // namespace

#ifdef __AVX512BF16__
extern const Kernel avx512_bf16 = {"avx512_bf16", 2,
#else
extern const Kernel avx512 = {"avx512", 4,
#endif
    nothing, nothing, lost<Lanes, Number>, pack<Number>,
    sweep_blocks<Lanes, multiply>, dot<Lanes>};

}  // namespace neighbors
