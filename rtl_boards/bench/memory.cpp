#include "memory.h"

#include <cstring>

unsigned Generator::below(unsigned limit)
{
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return limit ? state_ % limit : 0;
}

Memory::Memory(const MemoryTiming &timing, uint32_t seed, bool busiest)
    : timing(timing), bytes(timing.size), generator_(seed + timing.base), busiest_(busiest)
{
}

// A byte or a half word takes no more beats than it has to.
unsigned Memory::beats(const Request &request) const
{
    return (request.bytes * 8 + timing.width - 1) / timing.width;
}

Master Memory::step(uint64_t cycle, const Request (&requests)[MASTERS])
{
    if (owner_ == MASTERS) {
        const bool edge = cycle % timing.divider == 0;
        const uint64_t own = cycle / timing.divider;
        const bool refreshing =
            timing.refresh_every && own % timing.refresh_every < timing.refresh_takes;
        if (!edge || refreshing)
            return MASTERS;
        // Data before instructions; the second master has its turn after each transaction of the core.
        static const Master core_first[] = {DATA, INSTRUCTION, TRAFFIC};
        static const Master traffic_first[] = {TRAFFIC, DATA, INSTRUCTION};
        const auto &order = last_ == TRAFFIC || last_ == MASTERS ? core_first : traffic_first;
        for (const Master master : order) {
            if (!requests[master].active)
                continue;
            owner_ = last_ = master;
            left_ = timing.first + uint64_t(beats(requests[master]) - 1) * timing.next +
                    (busiest_ ? timing.jitter : generator_.below(timing.jitter + 1));
            left_ *= timing.divider;
            within_ = false;
            break;
        }
        if (owner_ == MASTERS)
            return MASTERS;
    } else if (within_) {
        // The next word of a burst follows at once.
        left_ = uint64_t(beats(requests[owner_])) * timing.next * timing.divider;
        within_ = false;
    }
    if (--left_)
        return MASTERS;
    const Master answered = owner_;
    if (timing.bursts && requests[answered].more)
        within_ = true;
    else
        owner_ = MASTERS;
    return answered;
}

uint32_t Memory::read(uint32_t address) const
{
    uint32_t value;
    std::memcpy(&value, &bytes[(address & ~3u) - timing.base], sizeof value);
    return value;
}

void Memory::write(uint32_t address, uint32_t value, unsigned lanes)
{
    for (unsigned lane = 0; lane < 4; lane++)
        if (lanes >> lane & 1)
            bytes[(address & ~3u) - timing.base + lane] = uint8_t(value >> (8 * lane));
}
