// Transactions of one memory, counted by hand: in which cycle each word is answered.
#include "../bench/memory.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int failures = 0;

void expect(const char *what, const std::vector<uint64_t> &found, const std::vector<uint64_t> &wanted)
{
    if (found == wanted)
        return;
    failures++;
    std::printf("%s: answered in", what);
    for (auto cycle : found)
        std::printf(" %llu", static_cast<unsigned long long>(cycle));
    std::printf(", by hand in");
    for (auto cycle : wanted)
        std::printf(" %llu", static_cast<unsigned long long>(cycle));
    std::printf("\n");
}

// One master asks for `words` words from cycle `from` on; in which cycles are they answered?
std::vector<uint64_t> answers(MemoryTiming timing, uint64_t from, unsigned words, unsigned bytes, bool burst,
                              bool busiest = false)
{
    timing.size = 64;
    Memory memory(timing, 1, busiest);
    std::vector<uint64_t> found;
    for (uint64_t cycle = 0; found.size() < words && cycle < 1000; cycle++) {
        Request requests[MASTERS];
        if (cycle >= from)
            requests[DATA] = {true, false, bytes, burst && found.size() + 1 < words};
        if (memory.step(cycle, requests) == DATA)
            found.push_back(cycle);
    }
    return found;
}

MemoryTiming timing(unsigned first, unsigned next, unsigned width = 32, unsigned divider = 1)
{
    MemoryTiming it;
    it.first = first, it.next = next, it.width = width, it.divider = divider;
    return it;
}

}  // namespace

int main()
{
    expect("no wait state", answers(timing(1, 1), 0, 3, 4, false), {0, 1, 2});
    expect("3 cycles each", answers(timing(3, 3), 0, 3, 4, false), {2, 5, 8});
    expect("asked for later", answers(timing(3, 3), 10, 1, 4, false), {12});
    expect("burst 5-2-2-2", answers(timing(5, 2), 0, 4, 4, true), {4, 6, 8, 10});
    auto single = timing(5, 2);
    single.bursts = false;
    expect("no bursts", answers(single, 0, 2, 4, true), {4, 9});
    expect("16 bits: two beats", answers(timing(3, 1, 16), 0, 2, 4, false), {3, 7});
    expect("16 bits: one byte", answers(timing(3, 1, 16), 0, 2, 1, false), {2, 5});
    expect("8 bits: four beats", answers(timing(2, 1, 8), 0, 1, 4, false), {4});
    expect("16 bits in a burst", answers(timing(3, 1, 16), 0, 3, 4, true), {3, 5, 7});
    // Edges in cycles 0, 2, 4 ...: asked for in cycle 1, begun in 2, over before the edge of 8.
    expect("half the clock, beside an edge", answers(timing(3, 1, 32, 2), 1, 1, 4, false), {7});
    expect("half the clock, at an edge", answers(timing(3, 1, 32, 2), 2, 1, 4, false), {7});
    expect("half the clock, burst", answers(timing(3, 1, 32, 2), 0, 3, 4, true), {5, 7, 9});
    auto refreshed = timing(1, 1);
    refreshed.refresh_every = 8, refreshed.refresh_takes = 3;
    expect("refresh in cycles 0..2, 8..10", answers(refreshed, 0, 7, 4, false), {3, 4, 5, 6, 7, 11, 12});

    auto jittered = timing(3, 1);
    jittered.jitter = 2;
    expect("the largest jitter", answers(jittered, 0, 3, 4, false, true), {4, 9, 14});

    // Three masters at once: data, then instructions; the second master after each of them.
    Memory memory([] { auto it = timing(2, 1); it.size = 64; return it; }(), 1);
    std::vector<uint64_t> order;
    for (uint64_t cycle = 0; cycle < 12; cycle++) {
        const Request requests[MASTERS] = {{true, false, 4, false}, {true, false, 4, false}, {true, false, 4, false}};
        const Master master = memory.step(cycle, requests);
        if (master != MASTERS)
            order.push_back(cycle * 10 + master);
    }
    expect("data and the second master in turn", order, {10, 32, 50, 72, 90, 112});

    // A burst is not broken off: data wait for the whole line.
    Memory line([] { auto it = timing(5, 2); it.size = 64; return it; }(), 1);
    unsigned fetched = 0;
    order.clear();
    for (uint64_t cycle = 0; cycle < 30 && order.size() < 5; cycle++) {
        Request requests[MASTERS];
        if (fetched < 4)
            requests[INSTRUCTION] = {true, false, 4, fetched < 3};
        if (cycle >= 1)
            requests[DATA] = {true, true, 4, false};
        const Master master = line.step(cycle, requests);
        if (master == INSTRUCTION)
            fetched++;
        if (master != MASTERS)
            order.push_back(cycle * 10 + master);
    }
    expect("a line, then data", order, {41, 61, 81, 101, 150});
    return failures ? 1 : 0;
}
