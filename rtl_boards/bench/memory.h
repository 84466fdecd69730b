// A memory behind one port: who may use it when, and how long that takes.
//
// Masters ask with a request; the port serves one transaction at a time and never breaks one off.
// A transaction begins at an edge of the memory's clock and ends with its last beat:
//
//     edges = first + (beats - 1) * next        beats = words * ceil(32 / width)
//
// The answer to a word comes in the last cycle of the core before the edge that ends its last beat. So a word
// that was asked for right behind an edge waits divider - 1 cycles of the core more.
#pragma once

#include <cstdint>
#include <vector>

#include "board.h"

enum Master { DATA, INSTRUCTION, TRAFFIC, MASTERS };

// A small generator of the bench's own, so that a seed gives the same numbers everywhere (xorshift32:
// Marsaglia, "Xorshift RNGs", 2003).
class Generator {
public:
    explicit Generator(uint32_t seed) : state_(seed * 2654435761u | 1u) {}
    unsigned below(unsigned limit);  // 0 .. limit - 1

private:
    uint32_t state_;
};

struct Request {
    bool active = false;
    bool write = false;
    unsigned bytes = 4;     // of the word that are asked for
    bool more = false;      // further words of the same burst follow
};

class Memory {
public:
    // `busiest`: the jitter of each transaction is the largest, instead of drawn.
    Memory(const MemoryTiming &timing, uint32_t seed, bool busiest = false);

    const MemoryTiming timing;
    std::vector<uint8_t> bytes;

    bool holds(uint32_t address) const { return address - timing.base < timing.size; }

    // One cycle of the core: what each master asks of this port. Returns the master whose word is
    // answered in this cycle, or MASTERS.
    Master step(uint64_t cycle, const Request (&requests)[MASTERS]);

    uint32_t read(uint32_t address) const;
    void write(uint32_t address, uint32_t value, unsigned lanes);

private:
    unsigned beats(const Request &request) const;

    Generator generator_;
    bool busiest_;
    Master owner_ = MASTERS;
    Master last_ = MASTERS;    // whom the last transaction was for
    uint64_t left_ = 0;        // cycles of the core until the word under way is answered
    bool within_ = false;      // between two words of a burst
};
