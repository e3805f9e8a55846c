// The interface of the search (search.cpp) to an instruction set, and the layout of operands.
//
// A kernel multiplies blocks of 32 rows and 32 queries. A packed block is a sequence of steps of
// 2 KB along the dimension. A step is two tiles of 16 vectors. A tile is 16 x 16 units of 4 bytes,
// each two half-precision numbers or one float. In a tile of rows each line is a vector. In a tile
// of queries each column is one: AMX and broadcasting need the right operand in this order.

#pragma once

#include <cstddef>
#include <cstdint>

namespace neighbors {

using half = uint16_t;  // the bits of a float16

constexpr int BLOCK = 32;     // 2 x 2 tiles of results: one load per product, the least for 8 tiles
constexpr int LANE = 16;      // vectors of a tile, and units of its line
constexpr int STEP = 2048;    // bytes of a block's step
constexpr int NONE_AHEAD = -BLOCK;  // for Queries: every row meets all of them
constexpr int MULTIPLE = 32;  // of the dimension: vectors are padded with zeros
constexpr int PANEL = 768;    // rows swept together: at 640 dimensions 960 KB, half of an L2 cache

// A pair whose screened score may matter.
struct Hit {
    float score;
    int32_t place;  // row of the panel * BLOCK + query of the block
};

// Packed rows, in blocks; the last block is padded with rows whose thresholds are +inf.
struct Rows {
    const uint8_t *packed;
    int blocks;
    const float *nearest;  // of each row: no query below this score can be its nearest
    const float *excess;   // no query with a score - gap below this can exceed its gap by the most
};

// One packed block of queries.
struct Queries {
    const uint8_t *packed;
    uint32_t real;         // a bit for each query that is not padding
    const float *floor;    // 32: no row below this score can be among the query's k nearest
    const float *gaps;     // 32, or null if gaps are not needed
    int ahead;             // row r meets only those below r - ahead
    const uint8_t *next;   // the block swept after this one, fetched meanwhile
};

// Twice the largest distance between screened and exact values.
struct Slack {
    float nearest, excess;
};

struct Kernel {
    const char *name;
    int bytes;        // of a packed number
    void (*begin)();  // in each thread before its first sweep
    void (*end)();
    // Both take a vector times `scale`. `lost` returns the square of what low precision loses.
    // `pack` writes the packed numbers, from the `line` of the first step on.
    float (*lost)(const half *vector, int d, float scale);
    void (*pack)(const half *vector, int d, float scale, uint8_t *line);
    // Writes the hits, at most all pairs, row by row, and returns their number.
    size_t (*sweep)(const Rows &, const Queries &, Slack, int steps, Hit *);
    double (*dot)(const half *row, const half *query, int d);  // exact
};

extern const Kernel amx_fp16, amx_bf16, avx512_bf16, avx512, avx2;

}  // namespace neighbors
