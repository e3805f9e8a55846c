#include "search.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "panels.h"

namespace neighbors {
namespace {

constexpr float INFINITE = std::numeric_limits<float>::infinity();
constexpr float EXCESS_ROUNDING = 0x1p-17f;  // three roundings to float32 of numbers up to 32
constexpr int TILE = LANE * LANE;            // units
constexpr int64_t STRIP = 1024;              // rows measured at once
constexpr double LEAST = 0x1p-60;            // below the length of every vector except zeros

// Returns how far a screened value can be from the exact one, if low precision loses at most this
// much, as squares, of vectors of length 1.
float error_bound(float lost_of_rows, float lost_of_queries, int dimension) {
    // Scaling to length 1 rounds twice, by 2^-24 each time.
    auto norm = [](float square) { return std::sqrt(double(square)) * 1.001 + 0x1p-22; };
    const double lost = norm(lost_of_rows), lost_query = norm(lost_of_queries);
    const double length = 1 + lost, query = 1 + lost_query;
    // Sums of float32 may be truncated instead of rounded: twice the error. The 16 are for
    // thresholds, which are sums and differences of floats too.
    const double rounding = (2.0 * dimension + 16) * 0x1p-24 * length * query;
    return float((lost * query + length * lost_query + rounding) * 1.01 + 0x1p-100);
}

// Scales a vector to length 1; zeros stay zeros.
float scale(double square) { return square > 0 ? float(1 / std::sqrt(square)) : 0; }

}  // namespace

// A block of rows, and the arrays for its answers.
class Search::Call : public Scorer {
public:
    Call(Search &search, const half *rows, int64_t n, bool earlier, const Panels &panels,
         const Answers &answers)
        : n(n),
          earlier(earlier),
          panels(panels),
          answers(answers),
          squares(n),
          search_(search),
          rows_(rows) {}

    const half *row(int64_t number) const { return rows_ + number * search_.tests_.dimension; }

    double exact(int32_t number, int32_t query, float score) const override {
        return search_.checked(*this, number, query, score);
    }

    void prefetch(int32_t number) const override { search_.prefetch(row(number)); }

    const int64_t n;
    const bool earlier;  // rows are the queries, and meet those before them
    const Panels panels;
    const Answers answers;
    std::vector<double> squares;  // of the rows' lengths, exact

private:
    Search &search_;
    const half *rows_;
};

// The state of a thread.
struct Search::Worker {
    Worker(int thread, size_t bytes)
        : thread(thread), packed(bytes), hits(size_t(PANEL) * BLOCK + 1) {}

    const int thread;
    bool sample = false;  // whether the rows represent all of the call
    Memory packed;
    std::vector<Hit> hits;
    std::vector<int64_t> rows;  // of its panel
    const int64_t *part;        // those that are swept now,
    int count;                  // and how many
    BestQueries nearest{-INFINITE}, excess{0};
};

Search::Search(const Kernel &kernel, const TestSets &tests, int64_t k)
    : kernel_(kernel),
      tests_(tests),
      steps_(tests.dimension * kernel.bytes / 64),
      squares_(tests.count),
      columns_(tests.count, k) {
    for (int64_t i = 0; i < tests.sets; i++) add_set(tests.starts[i], tests.starts[i + 1]);
    locks_.reset(new Spin[blocks_.size()]);
    packed_.reset(new Memory(blocks_.size() * steps_ * STEP));
    const Memory lines(steps_ * STEP);
    for (size_t block = 0; block < blocks_.size(); block++) {
        auto [first, count] = blocks_[block];
        const half *vectors[BLOCK] = {};
        float scales[BLOCK] = {};
        for (int i = 0; i < count; i++) {
            vectors[i] = tests.vectors + (first + i) * tests.dimension;
            squares_[first + i] = kernel.dot(vectors[i], vectors[i], tests.dimension);
            scales[i] = scale(squares_[first + i]);
            lost_of_queries_ =
                std::max(lost_of_queries_, kernel.lost(vectors[i], tests.dimension, scales[i]));
        }
        pack(vectors, scales, count, lines.at(0));
        auto line = reinterpret_cast<const uint32_t *>(lines.at(0));
        auto column = reinterpret_cast<uint32_t *>(packed_->at(block * steps_ * STEP));
        for (int tile = 0; tile < 2 * steps_; tile++, line += TILE, column += TILE)
            for (int i = 0; i < LANE; i++)
                for (int j = 0; j < LANE; j++) column[i * LANE + j] = line[j * LANE + i];
    }
}

void Search::add_set(int64_t start, int64_t stop) {
    const int64_t first_block = blocks_.size();
    int64_t free = -1;
    for (int64_t query = stop - 1; tests_.gaps && query >= start; query--)
        if (std::isinf(tests_.gaps[query])) free = query;
    for (int64_t first = start; first < stop; first += BLOCK)
        blocks_.push_back({first, int(std::min<int64_t>(BLOCK, stop - first))});
    const int64_t blocks = int64_t(blocks_.size()) - first_block;
    sets_.push_back({first_block, blocks, free, tests_.gaps && free < 0});
}

// Vectors that are missing from a block become zeros.
void Search::pack(const half *const *vectors, const float *scales, int count,
                  uint8_t *block) const {
    if (count < BLOCK) memset(block, 0, size_t(steps_) * STEP);
    for (int i = 0; i < count; i++)
        kernel_.pack(vectors[i], tests_.dimension, scales[i],
                     block + i / LANE * STEP / 2 + i % LANE * 64);
}

Outcome Search::rows(int threads, const int64_t *addresses, const half *rows, int64_t n,
                     float limit, const Answers &answers) {
    Call call(*this, rows, n, false, Panels(n, threads, true), answers);
    return search(threads, call, addresses, limit);
}

Outcome Search::earlier(int threads, float limit, const Answers &answers) {
    const int64_t n = tests_.count;
    Call call(*this, tests_.vectors, n, true, Panels(n, threads, false), answers);
    return search(threads, call, nullptr, limit);
}

Outcome Search::search(int threads, Call &call, const int64_t *addresses, float limit) {
    if (!measure(threads, call, limit)) return Outcome::TOO_LONG;
    bound_ = error_bound(lost_of_rows_, lost_of_queries_, tests_.dimension);
    columns_.begin(bound_, addresses);
    sampled_.assign(blocks_.size(), 0);
    std::vector<int64_t> all(blocks_.size());
    std::iota(all.begin(), all.end(), 0);
    sweep_panels(threads, call, 0, call.panels.samples());
    sweep_panels(threads, call, call.panels.samples(), call.panels.count());
    settle_columns(threads, call, all);
    repeat_guesses(threads, call);
    return worst_.load() > bound_ ? Outcome::BOUND_BROKEN : Outcome::FINE;
}

void Search::sweep_panels(int threads, Call &call, int64_t first, int64_t stop) {
    share(threads, stop - first, [&](int thread, auto next) {
        kernel_.begin();
        Worker worker(thread, panel_bytes());
        worker.sample = stop == call.panels.samples();
        bool cold = worker.sample && tests_.count && !columns_.full(0);
        for (int64_t piece; (piece = next()) >= 0;) {
            // With earlier vectors only, the last panels have the most products: they come first.
            call.panels.rows(call.earlier ? stop - 1 - piece : first + piece, worker.rows);
            const int64_t all = worker.rows.size();
            // A search starts with 32 rows, and panels grow as floors rise: its first rows are
            // candidates of every query.
            for (int64_t start = 0, size = cold ? BLOCK : PANEL; start < all;) {
                load(call, worker, start, int(std::min(size, all - start)));
                panel(call, worker);
                start += size;
                if (start > BLOCK) size *= 2;
            }
            cold = false;
        }
        kernel_.end();
    });
}

// Repeats the sweep of blocks with a floor that was guessed too high, only for their queries.
void Search::repeat_guesses(int threads, Call &call) {
    std::vector<int64_t> again;
    for (size_t block = 0; block < blocks_.size(); block++) {
        auto [first, count] = blocks_[block];
        if (columns_.sound(first, count)) continue;
        columns_.forget(first, count);
        again.push_back(block);
    }
    if (again.empty()) return;
    share(threads, call.panels.count(), [&](int thread, auto next) {
        kernel_.begin();
        Worker worker(thread, panel_bytes());
        worker.nearest.begin(0, bound_);  // the rows already have their answers
        worker.excess.begin(0, bound_);
        for (int64_t piece; (piece = next()) >= 0;) {
            call.panels.rows(piece, worker.rows);
            load(call, worker, 0, int(worker.rows.size()));
            for (size_t i = 0; i < again.size(); i++)
                sweep(call, worker, again[i], again[(i + 1) % again.size()], false);
        }
        kernel_.end();
    });
    settle_columns(threads, call, again);
}

void Search::settle_columns(int threads, Call &call, const std::vector<int64_t> &blocks) {
    share(threads, blocks.size(), [&](int, auto next) {
        for (int64_t piece; (piece = next()) >= 0;) {
            auto [first, count] = blocks_[blocks[piece]];
            for (int i = 0; i < count; i++) columns_.settle(first + i, call);
        }
    });
}

bool Search::measure(int threads, Call &call, float limit) {
    std::atomic<bool> fine{true};
    Spin lock;
    lost_of_rows_ = 0;
    share(threads, (call.n + STRIP - 1) / STRIP, [&](int, auto next) {
        float most = 0;
        for (int64_t strip; (strip = next()) >= 0;)
            for (int64_t row = strip * STRIP; row < std::min(call.n, (strip + 1) * STRIP); row++) {
                const half *vector = call.row(row);
                const double square = kernel_.dot(vector, vector, tests_.dimension);
                if (!(square < double(limit) * limit)) fine = false;  // NaN too
                call.squares[row] = square;
                most = std::max(most, kernel_.lost(vector, tests_.dimension, scale(square)));
            }
        std::lock_guard<Spin> guard(lock);
        lost_of_rows_ = std::max(lost_of_rows_, most);
    });
    return fine;
}

// Packs some rows of the worker's panel.
void Search::load(Call &call, Worker &worker, int64_t first, int count) {
    worker.part = worker.rows.data() + first;
    worker.count = count;
    for (int start = 0; start < count; start += BLOCK) {
        const half *vectors[BLOCK];
        float scales[BLOCK];
        const int some = std::min(BLOCK, count - start);
        for (int i = 0; i < some; i++) {
            vectors[i] = call.row(worker.part[start + i]);
            scales[i] = scale(call.squares[worker.part[start + i]]);
        }
        for (int i = start + BLOCK; i < std::min(count, start + 2 * BLOCK); i++)
            prefetch(call.row(worker.part[i]));  // rows of the sample are far apart
        pack(vectors, scales, some, worker.packed.at(size_t(start / BLOCK) * steps_ * STEP));
    }
}

void Search::panel(Call &call, Worker &worker) {
    for (size_t set = 0; set < sets_.size(); set++) {
        auto [first_block, blocks, free, gaps] = sets_[set];
        worker.nearest.begin(worker.count, bound_);
        worker.excess.begin(worker.count, bound_ + EXCESS_ROUNDING);
        const int64_t some = call.earlier ? worker.part[worker.count - 1] / BLOCK + 1 : blocks;
        for (int64_t i = worker.thread; i < some + worker.thread; i++)  // threads start apart
            sweep(call, worker, first_block + i % some, first_block + (i + 1) % some, gaps);
        settle(call, worker);
        answer(call, worker, set);
    }
}

void Search::sweep(Call &call, Worker &worker, int64_t block, int64_t next, bool gaps) {
    auto [first, count] = blocks_[block];
    float floors[BLOCK], limits[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        floors[i] = i < count ? columns_.floor(first + i) : INFINITE;
        limits[i] = gaps && i < count ? float(tests_.gaps[first + i]) : INFINITE;
    }
    // If the block's first query is a row of the panel, all rows before it are left out.
    const int ahead = call.earlier ? int(std::max<int64_t>(first - worker.part[0], NONE_AHEAD))
                                   : NONE_AHEAD;
    const int left_out = std::max(0, ahead) / BLOCK, start = left_out * BLOCK;
    const Rows rows{worker.packed.at(size_t(left_out) * steps_ * STEP),
                    (worker.count + BLOCK - 1) / BLOCK - left_out, worker.nearest.least() + start,
                    worker.excess.least() + start};
    const Queries queries{packed(block),  uint32_t((uint64_t(1) << count) - 1),
                          floors,         gaps ? limits : nullptr,
                          ahead - start,  packed(next)};
    const Slack slack{2 * bound_, 2 * (bound_ + EXCESS_ROUNDING)};
    const size_t found = kernel_.sweep(rows, queries, slack, steps_, worker.hits.data());
    std::lock_guard<Spin> guard(locks_[block]);
    if (worker.sample) sampled_[block] += worker.count;
    if (!found) return;
    for (const Hit *hit = worker.hits.data(), *end = hit + found; hit < end; hit++) {
        const int row = start + hit->place / BLOCK, column = hit->place % BLOCK;
        if (row >= worker.count) break;  // rows ascend, and the rest is padding
        const auto query = int32_t(first + column);
        worker.nearest.offer(row, query, hit->score, hit->score);
        if (gaps) worker.excess.offer(row, query, hit->score, hit->score - limits[column]);
        columns_.offer(query, int32_t(worker.part[row]), hit->score, call);
    }
    columns_.raise(first, count, worker.sample ? double(sampled_[block]) / call.n : 1);
    if (worker.nearest.crowded() || worker.excess.crowded()) settle(call, worker);
}

void Search::settle(Call &call, Worker &worker) {
    auto soon = [&](int row, int32_t query) {
        prefetch(call.row(worker.part[row]));
        prefetch(tests_.vectors + query * int64_t(tests_.dimension));
    };
    auto similarity = [&](int row, int32_t query, float score) {
        return checked(call, worker.part[row], query, score);
    };
    worker.nearest.settle(similarity, soon);
    worker.excess.settle(
        [&](int row, int32_t query, float score) {
            return similarity(row, query, score) - tests_.gaps[query];
        },
        soon);
}

void Search::answer(Call &call, Worker &worker, int64_t set) {
    for (int i = 0; i < worker.count; i++) {
        const int64_t row = worker.part[i], place = row * tests_.sets + set;
        const int64_t free = sets_[set].free;
        const int64_t crossed = free >= 0 ? free : worker.excess.query(i);
        call.answers.similarity[place] = worker.nearest.value(i);
        call.answers.query[place] = worker.nearest.query(i);
        call.answers.crossed[place] = crossed;
        call.answers.beyond[place] = crossed >= 0 ? exact(call, row, crossed) : -INFINITE;
    }
}

void Search::prefetch(const half *vector) const {
    constexpr int line = 32;  // numbers of a cache line
    for (int i = 0; i < tests_.dimension; i += line) __builtin_prefetch(vector + i);
}

// Multiplication, root and division round once each, identically on every machine.
double Search::exact(const Call &call, int64_t row, int64_t query) const {
    const half *vector = tests_.vectors + query * tests_.dimension;
    const double dot = kernel_.dot(call.row(row), vector, tests_.dimension);
    return dot / std::max(std::sqrt(call.squares[row] * squares_[query]), LEAST);
}

double Search::checked(const Call &call, int64_t row, int64_t query, float score) {
    const double similarity = exact(call, row, query), error = std::fabs(score - similarity);
    if (error > bound_) worst_.store(error);
    return similarity;
}

void Search::top(double *similarity, int64_t *address) const {
    const int64_t k = columns_.k();
    for (int64_t query = 0; query < tests_.count; query++)
        columns_.write(query, similarity + query * k, address + query * k);
}

}  // namespace neighbors
