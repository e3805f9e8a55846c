// Threads that share numbered pieces of work.

#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace neighbors {

// The processors that the scheduler (SLURM's cgroup, taskset) lets this process run on.
inline std::vector<int> granted() {
    cpu_set_t set;
    std::vector<int> found;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
    return found;
}

// Calls work(thread, next) in each thread; next() returns each piece's number once, then -1.
//
// Even a single thread is a new one: AMX registers belong to a thread, and torch expects those of
// the caller's thread unchanged. Threads are pinned if as many processors are granted. If more are,
// which other jobs may share, the system places the threads better.
// An exception of a thread is thrown here, when all have ended.
template <class Work>
void share(int threads, int64_t pieces, Work work) {
    std::atomic<int64_t> piece{0};
    std::exception_ptr failure;
    std::mutex one;
    const std::vector<int> processors = granted();
    auto run = [&](int thread) {
        try {
            if (threads > 1 && int(processors.size()) == threads) {
                cpu_set_t own;
                CPU_ZERO(&own);
                CPU_SET(processors[thread], &own);
                pthread_setaffinity_np(pthread_self(), sizeof own, &own);
            }
            work(thread, [&] {
                int64_t mine = piece.fetch_add(1, std::memory_order_relaxed);
                return mine < pieces ? mine : -1;
            });
        } catch (...) {
            std::lock_guard<std::mutex> guard(one);
            failure = std::current_exception();
            piece.store(pieces);
        }
    };
    std::vector<std::thread> team;
    try {
        for (int thread = 0; thread < threads; thread++) team.emplace_back(run, thread);
    } catch (...) {
        if (team.empty()) throw;  // else the started ones do the work
    }
    for (auto &thread : team) thread.join();
    if (failure) std::rethrow_exception(failure);
}

// A lock that two threads hardly ever request at the same time.
class Spin {
public:
    void lock() {
        while (taken_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
    }
    void unlock() { taken_.clear(std::memory_order_release); }

private:
    std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

}  // namespace neighbors
