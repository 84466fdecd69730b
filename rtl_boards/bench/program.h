// An ELF program for RV32: what is loaded, and where its marks lie.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

struct Segment {
    uint32_t address;            // physical
    std::vector<uint8_t> bytes;  // as in the file
};

struct Program {
    uint32_t entry = 0;
    std::vector<Segment> segments;
    uint32_t marks = 0, marks_size = 0;  // the array wcet_mark; size 0: the program has none
};

// Ends the run if the file is no little-endian ELF executable for RISC-V, 32 bits.
Program read_program(const std::string &path);
