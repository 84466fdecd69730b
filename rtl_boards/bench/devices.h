// The devices of QEMU's virt machine that a kernel needs: CLINT, UART, and semihosting.
//
// They lie outside of the memories and answer in one cycle. CLINT: SiFive FU540-C000 manual, chapter 9; UART:
// NS16550, transmitter only. Time runs at a tenth of the core's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

class Devices {
public:
    // What semihosting reads of the program's memory.
    using ReadByte = std::function<uint8_t(uint32_t)>;
    using ReadWord = std::function<uint32_t(uint32_t)>;

    Devices(ReadByte byte, ReadWord word) : byte_(std::move(byte)), word_(std::move(word)) {}

    void step(uint64_t cycle);
    bool timer() const { return time_ >= compare_; }
    bool software() const { return software_; }

    // False: no device lies there.
    bool read(uint32_t address, uint32_t &value) const;
    bool write(uint32_t address, uint32_t value, unsigned lanes);

    bool finished() const { return finished_; }
    int status() const { return status_; }

private:
    void semihosting(uint32_t operation, uint32_t argument);

    ReadByte byte_;
    ReadWord word_;
    uint64_t time_ = 0, compare_ = ~uint64_t(0);
    bool software_ = false;
    uint32_t operation_ = 0;
    bool finished_ = false;
    int status_ = 0;
};

// Semihosting without a debugger. The sequence that asks for it (slli x0, x0, 0x1f; ebreak; srai x0, x0, 7)
// is recognised in the loaded program and replaced by stores of a0 and a1 to these addresses, as a debugger
// replaces an instruction by a breakpoint. It lies outside of everything that is measured.
constexpr uint32_t SEMIHOSTING_OPERATION = 0x100, SEMIHOSTING_ARGUMENT = 0x104;
constexpr uint32_t SEMIHOSTING_CALL[3] = {0x01f01013, 0x00100073, 0x40705013};
constexpr uint32_t SEMIHOSTING_STORES[3] = {0x10a02023, 0x10b02223, 0x00000013};
