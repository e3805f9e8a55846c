// Code for all instruction sets, over registers of any width.
//
// Each .cpp that includes this is compiled for other instructions, and has its own type Lanes in an
// unnamed namespace. So no function made here is shared with a file for other machines. For the
// same reason nothing here calls the standard library.

#pragma once

#include "kernel.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

namespace neighbors {

template <class Lanes>
ALWAYS_INLINE typename Lanes::Register scaled(const half *x, float scale) {
    return Lanes::multiply(Lanes::widen(x), Lanes::all(scale));
}

// Finds pairs that matter, one line of 32 scores at a time.
//
// Nearly no line has any, so the usual path is one minimum and one comparison per register for both
// directions together. A second pass over the scores for the other direction would cost as much as
// the products.
template <class Lanes, bool GAPS>
class Screen {
    static constexpr int REGISTERS = BLOCK / Lanes::WIDTH;
    using Register = typename Lanes::Register;

public:
    ALWAYS_INLINE Screen(const Rows &rows, const Queries &queries, Slack slack, Hit *hits)
        : rows_(rows),
          real_(queries.real),
          ahead_(queries.ahead),
          slack_(slack),
          next_(hits) {
        for (int i = 0; i < REGISTERS; i++) {
            floor_[i] = Lanes::load(queries.floor + i * Lanes::WIDTH);
            if (GAPS) gaps_[i] = Lanes::load(queries.gaps + i * Lanes::WIDTH);
        }
    }

    ALWAYS_INLINE void line(const float *scores, int row) {
        const Register nearest = Lanes::all(rows_.nearest[row]);
        typename Lanes::Mask hit[REGISTERS];
        for (int i = 0; i < REGISTERS; i++) {
            const Register found = Lanes::load(scores + i * Lanes::WIDTH);
            hit[i] = Lanes::reaches(found, Lanes::min(nearest, floor_[i]));
            if (GAPS) {
                const Register excess = Lanes::all(rows_.excess[row]);
                hit[i] = Lanes::either(
                    hit[i], Lanes::reaches(Lanes::subtract(found, gaps_[i]), excess));
            }
        }
        if (__builtin_expect(Lanes::any(hit), 0)) keep(scores, row, Lanes::bits(hit) & real_ & met(row));
    }

    Hit *end() const { return next_; }

private:
    // The line raises the row's best score so far, which rules out most of its hits.
    __attribute__((noinline)) void keep(const float *scores, int row, uint32_t hit) {
        float floors[BLOCK], gaps[BLOCK];
        for (int i = 0; i < REGISTERS; i++) {
            Lanes::store(floors + i * Lanes::WIDTH, floor_[i]);
            if (GAPS) Lanes::store(gaps + i * Lanes::WIDTH, gaps_[i]);
        }
        float nearest = rows_.nearest[row], excess = GAPS ? rows_.excess[row] : 0;
        for (uint32_t left = hit; left; left &= left - 1) {
            int i = __builtin_ctz(left);
            nearest = larger(nearest, scores[i] - slack_.nearest);
            if (GAPS) excess = larger(excess, scores[i] - gaps[i] - slack_.excess);
        }
        for (uint32_t left = hit; left; left &= left - 1) {
            int i = __builtin_ctz(left);
            bool kept = scores[i] >= nearest || scores[i] >= floors[i] ||
                        (GAPS && scores[i] - gaps[i] >= excess);
            *next_ = {scores[i], row * BLOCK + i};
            next_ += kept;  // no branch: it could not be predicted
        }
    }

    uint32_t met(int row) const {
        const int queries = row - ahead_;
        return queries >= BLOCK ? ~uint32_t(0) : queries <= 0 ? 0 : (uint32_t(1) << queries) - 1;
    }

    static float larger(float a, float b) { return a > b ? a : b; }

    const Rows &rows_;
    uint32_t real_;
    int ahead_;
    Slack slack_;
    Hit *next_;
    Register floor_[REGISTERS], gaps_[REGISTERS];
};

using Multiply = void(const uint8_t *rows, const uint8_t *queries, int steps, float *scores);

// Sweeps block by block: `multiply` writes a block of scores, which are then screened.
template <class Lanes, bool GAPS, Multiply multiply>
size_t sweep_blocks(const Rows &rows, const Queries &queries, Slack slack, int steps, Hit *hits) {
    alignas(64) float scores[BLOCK * BLOCK];
    Screen<Lanes, GAPS> screen(rows, queries, slack, hits);
    for (int block = 0; block < rows.blocks; block++) {
        multiply(rows.packed + size_t(block) * steps * STEP, queries.packed, steps, scores);
        for (int row = 0; row < BLOCK; row++)
            screen.line(scores + row * BLOCK, block * BLOCK + row);
    }
    return size_t(screen.end() - hits);
}

template <class Lanes, Multiply multiply>
size_t sweep_blocks(const Rows &rows, const Queries &queries, Slack slack, int steps, Hit *hits) {
    return queries.gaps ? sweep_blocks<Lanes, true, multiply>(rows, queries, slack, steps, hits)
                        : sweep_blocks<Lanes, false, multiply>(rows, queries, slack, steps, hits);
}

// float32 is exact enough for the square: the bound computed from it is widened.
template <class Lanes, class Number>
float lost(const half *vector, int d, float scale) {
    auto sum = Lanes::all(0);
    for (int i = 0; i < d; i += Lanes::WIDTH) {
        auto lost = Number::lost(scaled<Lanes>(vector + i, scale));
        sum = Lanes::fma(lost, lost, sum);
    }
    return Lanes::sum(sum);
}

template <class Number>
void pack(const half *vector, int d, float scale, uint8_t *line) {
    for (int i = 0; i < d; i += 64 / Number::BYTES, line += STEP)
        Number::convert(vector + i, scale, line);
}

// A product of two float16 numbers fits into float32, and their sum into float64 (interface.py).
template <class Lanes>
double dot(const half *row, const half *query, int d) {
    auto low = Lanes::zeros(), high = low;
    for (int i = 0; i < d; i += Lanes::WIDTH) {
        auto product = Lanes::multiply(Lanes::widen(row + i), Lanes::widen(query + i));
        low = Lanes::add(low, Lanes::low(product));
        high = Lanes::add(high, Lanes::high(product));
    }
    return Lanes::sum(Lanes::add(low, high)) + 0.0;  // -0.0 becomes 0.0
}

static inline void nothing() {}

}  // namespace neighbors
