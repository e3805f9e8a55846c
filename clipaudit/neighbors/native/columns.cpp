#include "columns.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace neighbors {
namespace {

constexpr float NOTHING = -std::numeric_limits<float>::infinity();

constexpr int64_t AHEAD = 4;  // rows asked for before they are scored: they lie far from each other

struct Neighbor {
    double similarity;
    int64_t address;

    bool operator<(const Neighbor &other) const {  // the better one comes first
        return similarity > other.similarity ||
               (similarity == other.similarity && address < other.address);
    }
};

}  // namespace

Columns::Columns(int64_t queries, int64_t k)
    : k_(k),
      room_(3 * k + 64),
      similarity_(queries * k),
      address_(queries * k),
      filled_(queries),
      waiting_(queries),
      fresh_(queries),
      candidates_(new Candidate[queries * room_]),
      floor_(new std::atomic<float>[queries]) {}

void Columns::begin(float bound, const int64_t *addresses) {
    bound_ = bound;
    addresses_ = addresses;
    for (size_t query = 0; query < filled_.size(); query++) {
        waiting_[query] = fresh_[query] = 0;
        float least = full(query) ? float(similarity_[query * k_ + k_ - 1]) - bound : NOTHING;
        floor_[query].store(least, std::memory_order_relaxed);
    }
}

void Columns::offer(int64_t query, int32_t row, float score, const Scorer &scorer) {
    if (score < floor(query)) return;
    if (waiting_[query] == room_) compact(query);
    if (waiting_[query] > room_ - k_) settle(query, scorer);  // near ties of the k-th
    candidates_[query * room_ + waiting_[query]++] = {score, row};
    fresh_[query]++;
}

// The floor rises by less the older it is, and finding it costs some k comparisons: k new
// candidates are worth it, and the few more that come in meanwhile are cheap.
void Columns::raise(int64_t first, int64_t count) {
    for (int64_t query = first; query < first + count; query++)
        if (fresh_[query] >= k_) compact(query);
}

// The k-th best lower bound of similarities is a lower bound of the k-th best similarity.
void Columns::compact(int64_t query) {
    fresh_[query] = 0;
    const int64_t known = filled_[query], all = known + waiting_[query];
    if (all < k_) return;
    thread_local std::vector<float> lower;
    lower.resize(all);
    Candidate *waiting = &candidates_[query * room_], *end = waiting + waiting_[query];
    for (int64_t i = 0; i < known; i++) lower[i] = float(similarity_[query * k_ + i]);
    for (int64_t i = known; i < all; i++) lower[i] = waiting[i - known].score - bound_;
    std::nth_element(lower.begin(), lower.begin() + k_ - 1, lower.end(), std::greater<float>());
    const float least = std::max(floor(query), lower[k_ - 1] - bound_);
    floor_[query].store(least, std::memory_order_relaxed);
    end = std::remove_if(waiting, end, [&](const Candidate &c) { return c.score < least; });
    waiting_[query] = end - waiting;
}

void Columns::settle(int64_t query, const Scorer &scorer) {
    if (!waiting_[query]) return;
    compact(query);
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

void Columns::write(int64_t query, double *similarity, int64_t *address) const {
    std::copy_n(&similarity_[query * k_], filled_[query], similarity);
    std::copy_n(&address_[query * k_], filled_[query], address);
}

}  // namespace neighbors
