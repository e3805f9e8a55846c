// The k nearest rows of every query, while candidates stream in from all threads.
//
// A candidate waits with its screened score until its call ends. By then most are outdone, and only
// the others are scored exactly. A query with too many waiting candidates is settled immediately.

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
    Columns(int64_t queries, int64_t k);  // with k = 0 no row is kept

    // Starts a call, in which screened scores are off by at most `bound`.
    void begin(float bound, const int64_t *addresses);

    // No row below this score can be among the query's k nearest; it may rise at any time.
    float floor(int64_t query) const { return floor_[query].load(std::memory_order_relaxed); }

    // Offers a row; the caller holds the query's lock.
    void offer(int64_t query, int32_t row, float score, const Scorer &scorer);

    // Raises the floors of queries with new candidates; the caller holds their lock. `share` of the
    // call's rows were swept, and represent all of them. If it is below 1, the floors of queries
    // without results of earlier calls are guesses, and may be too high.
    void raise(int64_t first, int64_t count, double share);

    // Scores the waiting candidates that can still be among the query's k nearest.
    void settle(int64_t query, const Scorer &scorer);

    // Returns whether no floor was guessed too high, judging by these queries' settled rows.
    bool sound(int64_t first, int64_t count) const;
    // Forgets everything about these queries; only a first call guesses floors.
    void forget(int64_t first, int64_t count);

    int64_t k() const { return k_; }
    bool full(int64_t query) const { return filled_[query] == k_; }
    // Writes the known ones of the query's k nearest rows, and leaves the rest unchanged.
    void write(int64_t query, double *similarity, int64_t *address) const;

private:
    struct Candidate {
        float score;
        int32_t row;
    };

    void compact(int64_t query, int64_t rank);

    int64_t k_, room_;  // `room_`: candidates that may wait per query
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
