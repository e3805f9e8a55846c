// The best query of every row of a panel, first by screened values, finally by exact ones.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernel.h"

namespace neighbors {

// For each row the query with the highest value strictly above `start`; the lowest of equals.
class BestQueries {
public:
    explicit BestQueries(double start)
        : start_(start), least_(PANEL), seen_(PANEL), value_(PANEL), query_(PANEL) {}

    // Starts with `rows` of a panel, whose screened values are off by at most `bound`.
    void begin(int rows, float bound) {
        bound_ = bound;
        std::fill_n(least_.begin(), rows, float(start_) - bound);
        std::fill(least_.begin() + rows, least_.end(), INFINITE);
        std::fill(seen_.begin(), seen_.end(), -INFINITE);
        std::fill(value_.begin(), value_.end(), start_);
        std::fill(query_.begin(), query_.end(), -1);
    }

    // No offer below these screened values can win.
    const float *least() const { return least_.data(); }

    void offer(int row, int32_t query, float score, float value) {
        if (value < least_[row]) return;
        if (value > seen_[row]) {
            seen_[row] = value;
            least_[row] = std::max(least_[row], value - 2 * bound_);
        }
        offers_.push_back({row, query, score, value});
    }

    bool crowded() const { return offers_.size() > 64 * PANEL; }

    // Scores the offers that can still win: `exact(row, query, score)` is their exact value, and
    // `prefetch(row, query)` is called some offers ahead.
    template <class Score, class Prefetch>
    void settle(Score exact, Prefetch prefetch) {
        auto lost = [&](const Offer &offer) { return offer.value < least_[offer.row]; };
        offers_.erase(std::remove_if(offers_.begin(), offers_.end(), lost), offers_.end());
        const size_t last = offers_.size() - 1;
        for (size_t i = 0; i < offers_.size(); i++) {
            const Offer &offer = offers_[i], &later = offers_[std::min(i + AHEAD, last)];
            prefetch(later.row, later.query);
            if (lost(offer)) continue;
            double value = exact(offer.row, offer.query, offer.score), &best = value_[offer.row];
            int32_t &query = query_[offer.row];
            if (value > best || (value == best && value > start_ && offer.query < query)) {
                best = value;
                query = offer.query;
                least_[offer.row] = std::max(least_[offer.row], float(value) - bound_);
            }
        }
        offers_.clear();
    }

    double value(int row) const { return value_[row]; }
    int32_t query(int row) const { return query_[row]; }  // -1: none is above the start

private:
    static constexpr size_t AHEAD = 4;
    static constexpr float INFINITE = std::numeric_limits<float>::infinity();

    struct Offer {
        int32_t row, query;
        float score, value;
    };

    double start_;
    float bound_ = 0;
    std::vector<float> least_, seen_;
    std::vector<double> value_;
    std::vector<int32_t> query_;
    std::vector<Offer> offers_;
};

}  // namespace neighbors
