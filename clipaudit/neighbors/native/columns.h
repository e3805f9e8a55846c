// The k nearest rows of every query, while candidates stream in from all threads.
//
// A candidate waits with its screened score until its call ends: most are outdone by then, and only
// the others are scored exactly. What waits is bounded: a query with too many is settled at once.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace neighbors {

// Exact similarities of rows of the present call and queries; see Search.
class Scorer {
public:
    virtual double exact(int32_t row, int32_t query, float score) const = 0;
    virtual void prefetch(int32_t row) const = 0;

protected:
    ~Scorer() = default;
};

class Columns {
public:
    Columns(int64_t queries, int64_t k);  // with k = 0 nothing is asked, and no row kept

    // Starts a call, in which screened scores are off by at most `bound`.
    void begin(float bound, const int64_t *addresses);

    // Below this score no row can be among the query's k nearest; it rises at any time.
    float floor(int64_t query) const { return floor_[query].load(std::memory_order_relaxed); }

    // Offers a row; the caller holds the query's lock.
    void offer(int64_t query, int32_t row, float score, const Scorer &scorer);

    // Raises the floors of queries with new candidates; the caller holds their lock. `share` of the
    // call's rows, like all of them, were swept: below 1, where nothing is known of earlier calls,
    // floors are a guess, and may be too high.
    void raise(int64_t first, int64_t count, double share);

    // Scores what waits at one query and can still be among its k nearest.
    void settle(int64_t query, const Scorer &scorer);

    // Whether no floor was guessed too high, so far as these queries' nearest rows are settled.
    bool sound(int64_t first, int64_t count) const;
    // Forgets all about these queries; floors are guessed in a first call only.
    void forget(int64_t first, int64_t count);

    int64_t k() const { return k_; }
    bool full(int64_t query) const { return filled_[query] == k_; }
    // Writes what is known of the query's k nearest, and leaves the rest as it is.
    void write(int64_t query, double *similarity, int64_t *address) const;

private:
    struct Candidate {
        float score;
        int32_t row;
    };

    void compact(int64_t query, int64_t rank);

    int64_t k_, room_;  // `room_`: candidates that may wait at a query
    float bound_ = 0;
    const int64_t *addresses_ = nullptr;
    std::vector<double> similarity_;  // exact, the best first
    std::vector<int64_t> address_;
    std::vector<int64_t> filled_, waiting_, fresh_;  // fresh: candidates since the floor was raised
    std::vector<float> guessed_;                     // the highest floor that is a guess
    std::unique_ptr<Candidate[]> candidates_;
    std::unique_ptr<std::atomic<float>[]> floor_;
};

}  // namespace neighbors
