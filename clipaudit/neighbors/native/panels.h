// How the rows of a block are divided into panels, with a sample or without.
//
// The sample has rows at equal distances, so each of its panels represents the whole block, however
// its rows are sorted. These panels are swept first, and raise the floors for all others. Other
// panels are runs of neighbouring rows, which load faster than scattered ones.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernel.h"

namespace neighbors {

class Panels {
public:
    Panels(int64_t n, int threads, bool sample)
        : stride_(std::max<int64_t>(1, n / (8 * PANEL))),
          sampled_(sample ? (n + stride_ - 1) / stride_ : 0),
          others_(n - sampled_),
          samples_(cut(sampled_, threads)),
          count_(samples_ + cut(others_, threads)) {}

    int64_t samples() const { return samples_; }  // panels of the sample, which come first
    int64_t count() const { return count_; }      // of all panels

    void rows(int64_t panel, std::vector<int64_t> &rows) const {
        rows.clear();
        if (panel < samples_) {
            for (int64_t i = panel; i < sampled_; i += samples_) rows.push_back(i * stride_);
            return;
        }
        const int64_t number = panel - samples_, all = count_ - samples_;
        for (int64_t i = others_ * number / all; i < others_ * (number + 1) / all; i++)
            rows.push_back(sampled_ ? i + i / (stride_ - 1) + 1 : i);
    }

private:
    // As many panels as keep all threads busy to the end, unless they would be too small.
    static int64_t cut(int64_t rows, int threads) {
        const int64_t panels = (rows + PANEL - 1) / PANEL;
        return rows / 128 >= threads ? (panels + threads - 1) / threads * threads : panels;
    }

    int64_t stride_, sampled_, others_, samples_, count_;
};

}  // namespace neighbors
