// What a board is made of: memories with their timing, and a second bus master. Read from a YAML file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// One memory behind one port. All times are cycles of the memory's own clock.
struct MemoryTiming {
    std::string name;
    uint32_t base = 0;
    uint32_t size = 0;
    unsigned width = 32;       // bits that one beat of the memory carries: 8, 16, 32
    unsigned first = 1;        // the first beat of a transaction
    unsigned next = 1;         // each further beat, of a wide access or of a burst
    bool bursts = true;        // a burst of the core is one transaction, else one for each word
    unsigned divider = 1;      // cycles of the core in one cycle of the memory's clock
    unsigned refresh_every = 0;   // of the memory's cycles; 0: never
    unsigned refresh_takes = 0;
    unsigned jitter = 0;       // further cycles of a transaction, 0..jitter, drawn by a seeded generator
};

// Another master on the port of one memory.
struct TrafficTiming {
    std::string memory;        // empty: no second master
    unsigned beats = 1;        // of one transaction
    unsigned least_gap = 0;    // cycles of the core between two of its transactions:
    unsigned gap = 0;          // least_gap..gap, drawn
};

struct Board {
    std::string name;
    std::vector<MemoryTiming> memories;
    TrafficTiming traffic;
    uint32_t seed = 1;
};

// Ends the run if the file is not a board: file, line and column, and what was expected.
Board read_board(const std::string &path);
