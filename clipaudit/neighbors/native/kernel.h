// What the search (search.cpp) asks of an instruction set, and how operands lie in memory.
//
// A kernel multiplies blocks of 32 rows and 32 queries. A packed block is a sequence of steps of
// 2 KB along the dimension; a step is two tiles of 16 vectors, a tile 16 x 16 units of 4 bytes: two
// half-precision numbers or one float. In a tile of rows a line is one vector; in a tile of queries
// a column is one, as AMX wants its right operand (and broadcasting wants it too).

#pragma once

#include <cstddef>
#include <cstdint>

namespace neighbors {

using half = uint16_t;  // the bits of a float16

constexpr int BLOCK = 32;     // 2 x 2 tiles of results: one load a product, the least 8 tiles allow
constexpr int LANE = 16;      // vectors of a tile, and units of a line of it
constexpr int STEP = 2048;    // bytes of a block's step
constexpr int NONE_AHEAD = -BLOCK;  // of Queries: every row meets all
constexpr int MULTIPLE = 32;  // of the dimension: vectors end with zeros
constexpr int PANEL = 768;    // rows swept at once: at 640 dimensions 960 KB, half of an L2 cache

// A pair whose screened score may matter.
struct Hit {
    float score;
    int32_t place;  // row of the panel * BLOCK + query of the block
};

// Packed rows, in blocks; the last block is filled up with rows whose thresholds are +inf.
struct Rows {
    const uint8_t *packed;
    int blocks;
    const float *nearest;  // of each row: below this score no query can be its nearest
    const float *excess;   // and below this score - gap none can exceed its gap by the most
};

// One packed block of queries.
struct Queries {
    const uint8_t *packed;
    uint32_t real;         // a bit for each query that is not filled up
    const float *floor;    // 32: below this score no row can be among the query's k nearest
    const float *gaps;     // 32, or null where nothing is asked about gaps
    int ahead;             // row r meets those below r - ahead only
    const uint8_t *next;   // the block that will be swept after this one, to be fetched meanwhile
};

// Twice the distance between screened and exact values.
struct Slack {
    float nearest, excess;
};

struct Kernel {
    const char *name;
    int bytes;        // of a packed number
    void (*begin)();  // in each thread before its first sweep
    void (*end)();
    // Both of a vector times `scale`: the square of what low precision loses of it, and the packed
    // numbers, from the `line` of the first step on.
    float (*lost)(const half *vector, int d, float scale);
    void (*pack)(const half *vector, int d, float scale, uint8_t *line);
    // Writes the hits, at most all pairs, row by row, and returns how many.
    size_t (*sweep)(const Rows &, const Queries &, Slack, int steps, Hit *);
    double (*dot)(const half *row, const half *query, int d);  // exact
};

extern const Kernel amx_fp16, amx_bf16, avx512_bf16, avx512, avx2;

}  // namespace neighbors
