// Products by AMX: 16 x 16 results of 32 products each in 16 cycles. Also needs AVX512-BF16.

#include "lanes512.h"

namespace neighbors {
namespace {

struct Float16 {
    static constexpr int BYTES = 2;
    static ALWAYS_INLINE __m256i rounded(__m512 x) {
        return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    static ALWAYS_INLINE void convert(const half *x, float scale, uint8_t *line) {
        auto out = reinterpret_cast<__m256i *>(line);
        _mm256_store_si256(out, rounded(scaled<Lanes>(x, scale)));
        _mm256_store_si256(out + 1, rounded(scaled<Lanes>(x + 16, scale)));
    }
    static ALWAYS_INLINE __m512 lost(__m512 x) {
        return _mm512_sub_ps(x, _mm512_cvtph_ps(rounded(x)));
    }

    static ALWAYS_INLINE void multiply() {  // GCC 12 has no intrinsic for it
        __asm__ volatile(
            "tdpfp16ps %%tmm6, %%tmm4, %%tmm0\n\t"
            "tdpfp16ps %%tmm6, %%tmm5, %%tmm2\n\t"
            "tdpfp16ps %%tmm7, %%tmm4, %%tmm1\n\t"
            "tdpfp16ps %%tmm7, %%tmm5, %%tmm3" ::: "memory");
    }
};

struct Bfloat16Tiles : Bfloat16 {
    static ALWAYS_INLINE void multiply() {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
    }
};

// All 8 tiles have 16 lines of 64 bytes. It is constant because compilers may assume that only the
// first bytes are read, and not write the rest.
alignas(64) const struct {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t lines[16] = {LANE, LANE, LANE, LANE, LANE, LANE, LANE, LANE};
} TILES;

void begin() { _tile_loadconfig(&TILES); }

void end() { _tile_release(); }

// - The block's queries (40 KB at 640 dimensions) stay in the L1 cache, the rows stream from L2.
//   Rows are loaded with the hint that they will not be needed soon, so that they do not evict the
//   queries: 1.35 times the products per second.
// - Both tiles of rows, which come from L2, are loaded first: 3 to 5 % more products per second.
// - The next block of queries is fetched to L2 meanwhile, two lines per step: 5 % less time in all.
// - The scores of a block are screened while the next one is multiplied, a line or two per step, so
//   the tile unit keeps working. All are read before the next scores overwrite them.
template <class Number, bool GAPS>
size_t sweep(const Rows &rows, const Queries &queries, Slack slack, int steps, Hit *hits) {
    alignas(64) float scores[BLOCK * BLOCK];
    Screen<Lanes, GAPS> screen(rows, queries, slack, hits);
    const int lines = (BLOCK + steps - 1) / steps;  // to screen in each step
    const uint8_t *row = rows.packed, *ahead = queries.next;
    for (int block = 0; block < rows.blocks; block++) {
        const uint8_t *query = queries.packed;
        int line = block ? 0 : BLOCK, offset = (block - 1) * BLOCK;
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (int step = 0; step < steps; step++, row += STEP, query += STEP) {
            if (block < LANE) {
                _mm_prefetch(ahead, _MM_HINT_T1);
                _mm_prefetch(ahead + 64, _MM_HINT_T1);
                ahead += 128;
            }
            _tile_stream_loadd(4, row, 64);
            _tile_stream_loadd(5, row + STEP / 2, 64);
            _tile_loadd(6, query, 64);
            _tile_loadd(7, query + STEP / 2, 64);
            Number::multiply();
            for (int i = 0; i < lines && line < BLOCK; i++, line++)
                screen.line(scores + line * BLOCK, offset + line);
        }
        _tile_stored(0, scores, BLOCK * 4);
        _tile_stored(1, scores + LANE, BLOCK * 4);
        _tile_stored(2, scores + LANE * BLOCK, BLOCK * 4);
        _tile_stored(3, scores + LANE * BLOCK + LANE, BLOCK * 4);
    }
    for (int line = 0; line < BLOCK; line++)
        screen.line(scores + line * BLOCK, (rows.blocks - 1) * BLOCK + line);
    return size_t(screen.end() - hits);
}

template <class Number>
size_t sweep(const Rows &rows, const Queries &queries, Slack slack, int steps, Hit *hits) {
    return queries.gaps ? sweep<Number, true>(rows, queries, slack, steps, hits)
                        : sweep<Number, false>(rows, queries, slack, steps, hits);
}

}  // namespace

extern const Kernel amx_fp16 = {
    "amx_fp16", 2, begin, end, lost<Lanes, Float16>, pack<Float16>, sweep<Float16>,
    dot<Lanes>};
extern const Kernel amx_bf16 = {
    "amx_bf16", 2, begin, end, lost<Lanes, Bfloat16>, pack<Bfloat16>,
    sweep<Bfloat16Tiles>, dot<Lanes>};

}  // namespace neighbors
