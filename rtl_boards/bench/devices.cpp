#include "devices.h"

#include <cstdio>

namespace {

constexpr uint32_t SOFTWARE = 0x02000000, COMPARE = 0x02004000, TIME = 0x0200bff8;
constexpr uint32_t UART = 0x10000000, UART_LINE_STATUS = UART + 4;  // the word that holds register 5
constexpr uint32_t UART_READY = 0x6000;
constexpr uint32_t CYCLES_OF_TIME = 10;

// Arm, Semihosting for AArch32 and AArch64.
constexpr uint32_t SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, STOPPED_APPLICATION_EXIT = 0x20026;

uint64_t half(uint64_t whole, bool high, uint32_t value)
{
    return high ? (whole & 0xffffffffu) | uint64_t(value) << 32 : (whole & ~uint64_t(0xffffffffu)) | value;
}

}  // namespace

void Devices::step(uint64_t cycle)
{
    if (cycle % CYCLES_OF_TIME == 0)
        time_++;
}

bool Devices::read(uint32_t address, uint32_t &value) const
{
    switch (address) {
    case SOFTWARE: value = software_; return true;
    case COMPARE: value = uint32_t(compare_); return true;
    case COMPARE + 4: value = uint32_t(compare_ >> 32); return true;
    case TIME: value = uint32_t(time_); return true;
    case TIME + 4: value = uint32_t(time_ >> 32); return true;
    case UART: value = 0; return true;
    case UART_LINE_STATUS: value = UART_READY; return true;
    default: return false;
    }
}

bool Devices::write(uint32_t address, uint32_t value, unsigned lanes)
{
    switch (address) {
    case SOFTWARE: software_ = value & 1; return true;
    case COMPARE:
    case COMPARE + 4: compare_ = half(compare_, address & 4, value); return true;
    case UART:
        if (lanes & 1)
            std::fputc(int(value & 0xff), stdout);
        return true;
    case UART_LINE_STATUS: return true;
    case SEMIHOSTING_OPERATION: operation_ = value; return true;
    case SEMIHOSTING_ARGUMENT: semihosting(operation_, value); return true;
    default: return false;
    }
}

void Devices::semihosting(uint32_t operation, uint32_t argument)
{
    if (operation == SYS_WRITE0) {
        for (uint8_t byte; (byte = byte_(argument)) != 0; argument++)
            std::fputc(byte, stdout);
        std::fflush(stdout);
    } else if (operation == SYS_EXIT_EXTENDED) {
        finished_ = true;
        status_ = word_(argument) == STOPPED_APPLICATION_EXIT ? int(word_(argument + 4)) : 1;
    } else {
        std::fprintf(stderr, "the program asks for semihosting operation 0x%x, which the bench lacks\n", operation);
        finished_ = true;
        status_ = 3;
    }
}
