// Memory for packed operands: whole cache lines, in pages of 2 MB if the system has them.

#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace neighbors {

class Memory {
public:
    explicit Memory(size_t bytes) {
        constexpr size_t page = size_t(2) << 20;  // on pages of 4 KB a panel outgrows the TLB
        bytes = (bytes / page + 1) * page;
        start_ = static_cast<uint8_t *>(aligned_alloc(page, bytes));
        if (!start_) throw std::bad_alloc();
        madvise(start_, bytes, MADV_HUGEPAGE);
    }
    ~Memory() { free(start_); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    uint8_t *at(size_t offset) const { return start_ + offset; }

private:
    uint8_t *start_;
};

}  // namespace neighbors
