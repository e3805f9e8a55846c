#include "columns.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace neighbors {
namespace {

constexpr float NOTHING = -std::numeric_limits<float>::infinity();

constexpr int64_t AHEAD = 4;  // rows fetched before they are scored, since they are far apart

struct Neighbor {
    double similarity;
    int64_t address;

    bool operator<(const Neighbor &other) const {  // the better one comes first
        return similarity > other.similarity ||
               (similarity == other.similarity && address < other.address);
    }
};

// Returns a number that k of the values reach, and few others.
//
// Counting takes a few additions per register, so halving the range a dozen times costs a tenth of
// std::nth_element. If it stops short of the k-th best, a few more candidates stay.
float reached(const std::vector<float> &values, int64_t k) {
    auto count = [&](float limit) {
        int32_t reaching = 0;
        for (float value : values) reaching += value >= limit;
        return reaching;
    };
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    float least = *low, most = *high;
    if (count(most) >= k) return most;
    for (int halvings = 0; halvings < 16; halvings++) {
        const float middle = least + (most - least) / 2;
        const int64_t found = count(middle);
        (found < k ? most : least) = middle;
        if (found >= k && found <= k + k / 16) break;
    }
    return least;
}

}  // namespace

Columns::Columns(int64_t queries, int64_t k)
    : k_(k),
      room_(6 * k + 64),
      similarity_(queries * k),
      address_(queries * k),
      filled_(queries),
      waiting_(queries),
      fresh_(queries),
      guessed_(queries),
      candidates_(new Candidate[queries * room_]),
      floor_(new std::atomic<float>[queries]) {}

void Columns::begin(float bound, const int64_t *addresses) {
    bound_ = bound;
    addresses_ = addresses;
    for (size_t query = 0; query < filled_.size(); query++) {
        waiting_[query] = fresh_[query] = 0;
        guessed_[query] = NOTHING;
        float least = k_ == 0       ? -NOTHING
                      : full(query) ? float(similarity_[query * k_ + k_ - 1]) - bound
                                    : NOTHING;
        floor_[query].store(least, std::memory_order_relaxed);
    }
}

void Columns::offer(int64_t query, int32_t row, float score, const Scorer &scorer) {
    if (score < floor(query)) return;
    if (waiting_[query] == room_) compact(query, k_);
    if (waiting_[query] > room_ - k_) settle(query, scorer);  // near ties of the k-th
    candidates_[query * room_ + waiting_[query]++] = {score, row};
    fresh_[query]++;
}

// The older a floor is, the less it rises, and finding it costs about k comparisons. It is worth
// that after k new candidates; the few more that come in meanwhile are cheap.
//
// The swept rows are expected to have k times the share of the k nearest of all rows, give or take
// the square root. They practically never have four times that root and 8 more, so a floor at this
// rank is hardly ever too high. With k = 100 it leaves a third of the candidates.
void Columns::raise(int64_t first, int64_t count, double share) {
    if (k_ == 0) return;
    const double expected = double(k_) * share;
    const int64_t guess = std::min(k_, int64_t(expected + 4 * std::sqrt(expected) + 8));
    for (int64_t query = first; query < first + count; query++) {
        const int64_t rank = share < 1 && !filled_[query] ? guess : k_;
        if (fresh_[query] >= rank) compact(query, rank);
    }
}

// The k-th best lower bound of similarities is a lower bound of the k-th best similarity.
void Columns::compact(int64_t query, int64_t rank) {
    fresh_[query] = 0;
    const int64_t known = filled_[query], count = waiting_[query];
    if (known + count < rank) return;
    thread_local std::vector<float> lower;
    lower.resize(known + count);
    Candidate *waiting = &candidates_[query * room_];
    for (int64_t i = 0; i < known; i++) lower[i] = float(similarity_[query * k_ + i]);
    for (int64_t i = 0; i < count; i++) lower[known + i] = waiting[i].score - bound_;
    const float least = std::max(floor(query), reached(lower, rank) - bound_);
    floor_[query].store(least, std::memory_order_relaxed);
    if (rank < k_) guessed_[query] = least;
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {  // no branch: it could not be predicted
        waiting[kept] = waiting[i];
        kept += waiting[i].score >= least;
    }
    waiting_[query] = kept;
}

void Columns::settle(int64_t query, const Scorer &scorer) {
    if (!waiting_[query]) return;
    compact(query, k_);
    thread_local std::vector<Neighbor> best;
    best.clear();
    double *similarity = &similarity_[query * k_];
    int64_t *address = &address_[query * k_];
    for (int64_t i = 0; i < filled_[query]; i++) best.push_back({similarity[i], address[i]});
    const Candidate *waiting = &candidates_[query * room_];
    const int64_t count = waiting_[query];
    for (int64_t i = 0; i < std::min(AHEAD, count); i++) scorer.prefetch(waiting[i].row);
    for (int64_t i = 0; i < count; i++) {
        if (i + AHEAD < count) scorer.prefetch(waiting[i + AHEAD].row);
        auto [score, row] = waiting[i];
        best.push_back({scorer.exact(row, int32_t(query), score), addresses_[row]});
    }
    const int64_t kept = std::min<int64_t>(k_, best.size());
    std::nth_element(best.begin(), best.begin() + kept - 1, best.end());
    std::sort(best.begin(), best.begin() + kept);
    for (int64_t i = 0; i < kept; i++) {
        similarity[i] = best[i].similarity;
        address[i] = best[i].address;
    }
    filled_[query] = kept;
    waiting_[query] = fresh_[query] = 0;
    if (kept == k_) {
        float least = std::max(floor(query), float(similarity[k_ - 1]) - bound_);
        floor_[query].store(least, std::memory_order_relaxed);
    }
}

// A row below a floor has an exact similarity below the floor plus the bound.
bool Columns::sound(int64_t first, int64_t count) const {
    for (int64_t query = first; query < first + count; query++)
        if (guessed_[query] > NOTHING &&
            !(full(query) && similarity_[query * k_ + k_ - 1] > double(guessed_[query]) + bound_))
            return false;
    return true;
}

void Columns::forget(int64_t first, int64_t count) {
    for (int64_t query = first; query < first + count; query++) {
        filled_[query] = waiting_[query] = fresh_[query] = 0;
        guessed_[query] = NOTHING;
        floor_[query].store(NOTHING, std::memory_order_relaxed);
    }
}

void Columns::write(int64_t query, double *similarity, int64_t *address) const {
    std::copy_n(&similarity_[query * k_], filled_[query], similarity);
    std::copy_n(&address_[query * k_], filled_[query], address);
}

}  // namespace neighbors
