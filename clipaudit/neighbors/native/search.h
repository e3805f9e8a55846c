// One pass over training rows; see ../interface.py for its answers, ../screening.py for the bound.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "columns.h"
#include "kernel.h"
#include "memory.h"
#include "best_queries.h"
#include "threads.h"

namespace neighbors {

// The test sets: `count` float16 vectors of `dimension` numbers, a multiple of MULTIPLE.
struct TestSets {
    const half *vectors;
    int64_t count;
    int dimension;
    const int64_t *starts;  // sets + 1
    int64_t sets;
    const double *gaps;  // or null
};

// The arrays for the answers for a block of n rows: n x sets, row by row.
struct Answers {
    double *similarity;
    int64_t *query;
    double *beyond;
    int64_t *crossed;
};

// How `Search::rows` ended; `worst` has the error that broke the bound.
enum class Outcome { FINE = 0, TOO_LONG = 1, BOUND_BROKEN = 2 };

class Search {
public:
    // Keeps the pointers to the queries and gaps, which must outlive it.
    Search(const Kernel &kernel, const TestSets &tests, int64_t k);

    // Answers for n rows, or does nothing if one of them may be longer than `limit`.
    Outcome rows(int threads, const int64_t *addresses, const half *rows, int64_t n, float limit,
                 const Answers &answers);

    // Answers for every query, as the row of its number, with the queries before it. For one set
    // and k = 0. It computes half of the products, as blocks are not multiplied with later ones.
    Outcome earlier(int threads, float limit, const Answers &answers);

    void top(double *similarity, int64_t *address) const;

    double worst() const { return worst_.load(); }
    double bound() const { return bound_; }

private:
    struct Set {
        int64_t first_block, blocks;
        int64_t free;  // its lowest query with gap -inf, which everything exceeds; or -1
        bool gaps;     // whether pairs are to be tested against gaps
    };
    struct Block {
        int64_t first;  // query
        int count;
    };
    class Call;
    struct Worker;

    void pack(const half *const *vectors, const float *scales, int count, uint8_t *block) const;
    void add_set(int64_t start, int64_t stop);
    Outcome search(int threads, Call &call, const int64_t *addresses, float limit);
    bool measure(int threads, Call &call, float limit);
    void sweep_panels(int threads, Call &call, int64_t first, int64_t stop);
    void repeat_guesses(int threads, Call &call);
    void settle_columns(int threads, Call &call, const std::vector<int64_t> &blocks);
    void load(Call &call, Worker &worker, int64_t first, int count);
    void panel(Call &call, Worker &worker);
    void sweep(Call &call, Worker &worker, int64_t block, int64_t next, bool gaps);
    size_t panel_bytes() const { return size_t(PANEL / BLOCK) * steps_ * STEP; }
    const uint8_t *packed(int64_t block) const { return packed_->at(block * steps_ * STEP); }
    void settle(Call &call, Worker &worker);
    void answer(Call &call, Worker &worker, int64_t set);
    void prefetch(const half *vector) const;
    double exact(const Call &call, int64_t row, int64_t query) const;
    double checked(const Call &call, int64_t row, int64_t query, float score);

    const Kernel &kernel_;
    TestSets tests_;
    int steps_;
    std::vector<Set> sets_;
    std::vector<Block> blocks_;
    std::unique_ptr<Memory> packed_;  // all blocks of queries
    std::unique_ptr<Spin[]> locks_;   // one per block
    std::vector<double> squares_;  // of the queries' lengths, exact
    float lost_of_queries_ = 0, lost_of_rows_ = 0;  // the maximum, as squares
    Columns columns_;
    std::vector<int64_t> sampled_;  // rows of the call's sample that each block has met
    float bound_ = 0;
    std::atomic<double> worst_{0};  // an error beyond the bound, if one was seen
};

}  // namespace neighbors
