// The C interface of the library, for ctypes (library.py), and the choice of a kernel.

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "search.h"

using namespace neighbors;

namespace {

struct Processor {
    bool avx2, avx512, quick_bf16, slow_bf16, amx_bf16, amx_fp16;
};

bool has(unsigned bits, int bit) { return bits >> bit & 1; }

// Returns whether the system saves these registers when it switches threads, as their use requires.
bool saves(unsigned first, unsigned last) {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    for (unsigned bit = first; bit <= last; bit++)
        if (!has(low, int(bit))) return false;
    return true;
}

enum Level { NONE, AVX2, AVX512, BF16, AMX, AMX_FP16 };

// The instructions that oneDNN's variable allows: one limit for everything a process computes.
Level allowed() {
    static const std::pair<const char *, Level> LEVELS[] = {
        {"SSE41", NONE},
        {"AVX", NONE},
        {"AVX2", AVX2},
        {"AVX2_VNNI", AVX2},
        {"AVX2_VNNI_2", AVX2},
        {"AVX512_CORE", AVX512},
        {"AVX512_CORE_VNNI", AVX512},
        {"AVX512_CORE_BF16", BF16},
        {"AVX512_CORE_FP16", BF16},
        {"AVX10_1_512", BF16},
        {"AVX512_CORE_AMX", AMX},
        {"AVX10_1_512_AMX", AMX},
    };
    const char *limit = getenv("ONEDNN_MAX_CPU_ISA");
    for (auto &[name, level] : LEVELS)
        if (limit && strcasecmp(name, limit) == 0) return level;
    return AMX_FP16;
}

Processor inspect() {
    constexpr long ask = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM: tiles need a request
    unsigned a, b, c, d, maker, bits1, bits7b, bits7d, bits71 = 0;
    if (!__get_cpuid(0, &a, &maker, &c, &d)) return {};
    if (!__get_cpuid(1, &a, &b, &bits1, &d) || !has(bits1, 27)) return {};
    if (!__get_cpuid_count(7, 0, &a, &bits7b, &c, &bits7d)) return {};
    if (a >= 1) __get_cpuid_count(7, 1, &bits71, &b, &c, &d);
    const Level most = allowed();
    Processor found{};
    found.avx2 = most >= AVX2 && saves(1, 2) && has(bits7b, 5) && has(bits1, 12) && has(bits1, 29);
    found.avx512 = most >= AVX512 && found.avx2 && saves(5, 7) && has(bits7b, 16) && has(bits7b, 17) &&
                   has(bits7b, 30) && has(bits7b, 31);
    const bool avx512_bf16 = most >= BF16 && found.avx512 && has(bits71, 5);
    found.quick_bf16 = avx512_bf16 && maker != signature_INTEL_ebx;
    found.slow_bf16 = avx512_bf16 && maker == signature_INTEL_ebx;
    found.amx_bf16 = most >= AMX && avx512_bf16 && has(bits7d, 22) && has(bits7d, 24) &&
                     saves(17, 18) && syscall(SYS_arch_prctl, ask, tile_data) == 0;
    found.amx_fp16 = most >= AMX_FP16 && found.amx_bf16 && has(bits71, 21);
    return found;
}

struct Choice {
    const Kernel &kernel;
    bool Processor::*needs;
};

// The fastest first. AVX-512 multiplies bfloat16 at three quarters of float32's rate on Intel's
// processors, and at twice float32's rate on AMD's, by their manual.
const Choice CHOICES[] = {
    {amx_fp16, &Processor::amx_fp16},
    {amx_bf16, &Processor::amx_bf16},
    {avx512_bf16, &Processor::quick_bf16},
    {avx512, &Processor::avx512},
    {avx512_bf16, &Processor::slow_bf16},
    {avx2, &Processor::avx2},
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// The digest of the sources that this was compiled from; see build.py.
const char *neighbors_sources() { return SOURCES; }

// The names of the kernels that this processor can run, the fastest first, separated by blanks.
const char *neighbors_kernels() {
    static const std::string names = [] {
        const Processor processor = inspect();
        std::string found;
        for (auto &[kernel, needs] : CHOICES)
            if (processor.*needs) found += (found.empty() ? "" : " ") + std::string(kernel.name);
        return found;
    }();
    return names.c_str();
}

// Returns null if memory is short or no kernel has the name.
void *neighbors_open(const char *name, const half *vectors, int64_t count, int dimension,
                     const int64_t *starts, int64_t sets, const double *gaps, int64_t k) {
    neighbors_kernels();  // requests the tiles
    try {
        for (auto &choice : CHOICES)
            if (strcmp(choice.kernel.name, name) == 0)
                return new Search(choice.kernel, {vectors, count, dimension, starts, sets, gaps},
                                  k);
    } catch (const std::exception &) {
    }
    return nullptr;
}

// Returns an Outcome, or -1 if memory or threads are short.
int neighbors_rows(void *search, int threads, const int64_t *addresses, const half *rows, int64_t n,
                   float limit, double *similarity, int64_t *query, double *beyond,
                   int64_t *crossed) {
    try {
        return int(static_cast<Search *>(search)->rows(threads, addresses, rows, n, limit,
                                                       {similarity, query, beyond, crossed}));
    } catch (const std::exception &) {
        return -1;
    }
}

// The same for neighbors_open with k = 0 and one set: every vector's nearest earlier one.
int neighbors_earlier(void *search, int threads, float limit, double *similarity, int64_t *query,
                      double *beyond, int64_t *crossed) {
    try {
        return int(static_cast<Search *>(search)->earlier(threads, limit,
                                                          {similarity, query, beyond, crossed}));
    } catch (const std::exception &) {
        return -1;
    }
}

double neighbors_worst(void *search) { return static_cast<Search *>(search)->worst(); }

double neighbors_bound(void *search) { return static_cast<Search *>(search)->bound(); }

void neighbors_top(void *search, double *similarity, int64_t *address) {
    static_cast<Search *>(search)->top(similarity, address);
}

void neighbors_close(void *search) { delete static_cast<Search *>(search); }
}
#pragma GCC visibility pop
