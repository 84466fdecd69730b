// A board around a VexRiscv core in RTL: runs a program and writes down when its marks are stored.
//
//   bench BOARD.yaml PROGRAM.elf -o MARKS.csv [--caches cold|warm|ideal|left] [--full FILE] [--refresh] [--jitter]
//         [--second-master] [--seed N] [--busiest any|waited|N] [--phase CYCLES] [--retired FILE] [--accesses FILE] [--refills FILE] [--limit CYCLES]
//
// --busiest: of what the board's file leaves open, the worst. Jitter is always the largest; and once the second master
// may ask again, it waits for an access of the core to the same memory, and is served before it: for any, for one
// whose answer the core waits for, or for any from the Nth (from 0) on behind a mark.
// --phase: memories and second master are so many cycles of the core further on.
//
// MARKS.csv: `cycle,offset`, a line for each store into wcet_mark: the cycle of the core in which the bus
// took it, and which byte of the array it was. FILE: for each instruction that retired, its address and
// the cycle, as two little-endian words of 32 bits. --refills: for each line of instructions that the core
// loaded, its address, the cycle in which the bus was asked, and that of the last word's answer, as three such words.
// --accesses: for each data access the bus's word address, the cycle in which it was answered, and 16 for a
// write plus its byte lanes, as three such words. --data: for each access of a core with a data cache, when it retired,
// its address, the cycle, and 16 for a store plus its bytes, as three such words.
// --warm-data FILE: lines of data that are there when a service begins, wherever code before it has put others in their
// places. FILE: how often the caches were emptied before, with the address of the service's first instruction, and then
// with that of each line, no two of one set, as two such words (warm.py).
// --emptied: the cycle of each time that the caches were emptied, as one such word.
// --caches warm: of instructions, each line is there when it is asked for, but in sets that --full says have no room for
// what is measured; these are empty where a service begins. --full FILE: how often the caches were emptied before, and
// the number of a set, as two such words (warm.py). --absent-from, --absent-to: addresses between which code is not there
// all the same: that of who calls and is interrupted, for what is measured need not find it there.
// --interrupts FILE: cycles, ascending, as such words. In each of them the line of the software interrupt rises, in a copy
// of the board that runs until the core takes it; the board itself goes on as if nothing had been, so that no run is
// disturbed by any number of interrupts. --latencies FILE: of each, the cycle in which the line rose and that in which the
// first instruction of the trap handler retired, as two such words; in place of the second 0 where the program has not
// enabled this interrupt (mie) when the line rises, and 0xffffffff where the program ended first.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <verilated.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <map>
#include <memory>

#include "VCore.h"
#include "VCore_VexRiscv.h"
#include "board.h"
#include "devices.h"
#include "fail.h"
#include "memory.h"
#include "program.h"

namespace {

struct Options {
    std::string board, program, marks, retired, refills, accesses, data, emptied, warm, full, interrupts, latencies;
    bool cold = false, ideal = false, warm_code = false, empty_data = false, empty_masked = false;
    bool refresh = false, jitter = false, second_master = false;  // of the board's; off without the option
    // Which accesses the second master gets in the way of: Drawn does not look.
    enum class InTheWay { Drawn, Any, Waited, Numbered } in_the_way = InTheWay::Drawn;
    uint64_t which = 0;  // the first of those behind a mark
    bool empties() const { return cold || warm_code || empty_data; } // the caches at each mark
    bool busiest() const { return in_the_way != InTheWay::Drawn; }
    uint32_t absent_from = 0, absent_to = 0;
    uint32_t seed = 1;
    uint64_t phase = 0;
    uint64_t limit = 2000000000;
};

uint64_t number(const std::string &option, const std::string &text, uint64_t most = UINT64_MAX)
{
    uint64_t result = 0;
    const auto *end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, result);
    if (parsed.ec != std::errc() || parsed.ptr != end || result > most)
        fail("bench", option + " is a whole number of at most " + std::to_string(most) + ", not " + text);
    return result;
}

void set_busiest(Options &it, const std::string &text)
{
    using InTheWay = Options::InTheWay;
    it.in_the_way = text == "any" ? InTheWay::Any : text == "waited" ? InTheWay::Waited : InTheWay::Numbered;
    if (it.in_the_way != InTheWay::Numbered)
        return;
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
        fail("bench", "--busiest is any, waited (accesses that the core waits for) or a number of accesses behind a "
                      "mark, not " + text);
    it.which = number("--busiest", text);
}

Options options(int count, char **words)
{
    Options it;
    std::vector<std::string> files;
    for (int i = 1; i < count; i++) {
        const std::string word = words[i];
        const auto value = [&] {
            if (++i == count)
                fail("bench", word + " needs a value");
            return std::string(words[i]);
        };
        if (word == "-o") it.marks = value();
        else if (word == "--retired") it.retired = value();
        else if (word == "--refills") it.refills = value();
        else if (word == "--accesses") it.accesses = value();
        else if (word == "--data") it.data = value();
        else if (word == "--emptied") it.emptied = value();
        else if (word == "--full") it.full = value();
        else if (word == "--absent-from") it.absent_from = uint32_t(number(word, value(), UINT32_MAX));
        else if (word == "--absent-to") it.absent_to = uint32_t(number(word, value(), UINT32_MAX));
        else if (word == "--interrupts") it.interrupts = value();
        else if (word == "--latencies") it.latencies = value();
        else if (word == "--warm-data") it.warm = value(), it.empty_data = true;
        else if (word == "--seed") it.seed = uint32_t(number(word, value(), UINT32_MAX));
        else if (word == "--phase") it.phase = number(word, value());
        else if (word == "--busiest") set_busiest(it, value());
        else if (word == "--limit") it.limit = number(word, value());
        else if (word == "--second-master") it.second_master = true;
        else if (word == "--refresh") it.refresh = true;
        else if (word == "--jitter") it.jitter = true;
        else if (word == "--empty-data") it.empty_data = true;
        else if (word == "--empty-masked") it.empty_masked = true;
        else if (word == "--caches") {
            const auto state = value();
            if (state != "cold" && state != "warm" && state != "ideal" && state != "left")
                fail("bench", "--caches is cold (empty at each mark and where a handler returns), warm (of "
                              "instructions: as ideal, but in the sets that --full names as cold), ideal (of "
                              "instructions: each line is there when it is asked for) or left (as the program "
                              "leaves them)");
            it.cold = state == "cold", it.ideal = state == "ideal", it.warm_code = state == "warm";
        } else if (word[0] == '-') fail("bench", "unknown option " + word);
        else files.push_back(word);
    }
    if (files.size() != 2 || it.marks.empty())
        fail("bench", "usage: bench BOARD.yaml PROGRAM.elf -o MARKS.csv [--caches cold|warm|ideal|left] [--full FILE "
                      "[--absent-from ADDRESS --absent-to ADDRESS]] [--refresh] [--jitter] "
                      "[--second-master] [--seed N] [--busiest any|waited|N] [--phase CYCLES] [--retired FILE] [--accesses FILE] [--refills FILE] "
                      "[--data FILE] [--emptied FILE] [--empty-data|--warm-data FILE] [--empty-masked] "
                      "[--interrupts FILE --latencies FILE] "
                      "[--limit CYCLES]");
    if (it.absent_to && !it.warm_code)
        fail("bench", "--absent-from and --absent-to are of --caches warm");
    if (it.warm_code == it.full.empty())
        fail("bench", "--caches warm and --full FILE go together");
    if (it.empty_masked && !it.cold && (!it.empty_data || !it.warm.empty()))
        fail("bench", "--empty-masked empties what --caches cold or --empty-data does, at further places");
    if (it.interrupts.empty() != it.latencies.empty())
        fail("bench", "--interrupts FILE and --latencies FILE go together");
#ifndef CORE_HAS_DATA_CACHE
    if (it.empty_data)
        fail("bench", "--empty-data and --warm-data are for cores with a data cache");
    if (!it.data.empty())
        fail("bench", "--data is for cores with a data cache; --accesses has all accesses of this one");
#endif
    it.board = files[0], it.program = files[1];
    return it;
}

constexpr uint32_t MRET = 0x30200073;
constexpr unsigned SOFTWARE_INTERRUPT = 3;  // its mcause
constexpr uint32_t NOT_ENABLED = 0, NEVER_TAKEN = UINT32_MAX;

// csrrc or csrrci of mstatus.
bool clears_mstatus(uint32_t instruction)
{
    return (instruction & 0xfff0307f) == 0x30003073;
}

constexpr unsigned MISS_RETIRES = 4;  // cycles behind the end of the line that a load missed (docs/explanation/rtl.md)
constexpr uint32_t LINE_BYTES = 32;  // of every core's instruction cache: one burst of eight words

using File = std::unique_ptr<std::FILE, int (*)(std::FILE *)>;

File opened(const std::string &path)
{
    File file(path.empty() ? nullptr : std::fopen(path.c_str(), "wb"), std::fclose);
    if (!path.empty() && !file)
        fail(path, "cannot be written");
    return file;
}

class Bench {
public:
    Bench(const Options &options, const Board &board, const Program &program)
        : options_(options), board_(board), program_(program),
          devices_([this](uint32_t a) { return byte(a); }, [this](uint32_t a) { return word(a); }),
          traffic_(options.seed + 1), marks_(opened(options.marks)), retired_(opened(options.retired)),
          refills_(opened(options.refills)), accesses_(opened(options.accesses)), data_(opened(options.data)),
          emptyings_(opened(options.emptied)), latencies_(opened(options.latencies)), warm_(by_period(options.warm)),
          full_(by_period(options.full)), rises_(words(options.interrupts))
    {
        if (!std::is_sorted(rises_.begin(), rises_.end()))
            fail(options.interrupts, "has cycles that do not ascend");
        for (const auto &timing : board.memories)
            memories_.emplace_back(timing, options.seed, options.busiest());
        traffic_wait_ = unsigned(options.phase % (board.traffic.gap + 1));
        load();
    }

    int run();

private:
    void load();
    void cycle();
    void data_word();
    void fetched_word();
    void traffic();
    bool in_the_way(bool accesses, uint32_t address);
    void empty_caches(const std::vector<uint32_t> &but);
    void fill_line(uint32_t address);
    static std::vector<uint32_t> words(const std::string &path);
    static std::map<uint32_t, std::vector<uint32_t>> by_period(const std::string &path);
    void interrupt();
    uint32_t taken();
    bool is_there(uint32_t address) const;
    bool is_mark(uint32_t address) const;
    bool stores_mark() const;
    void follow_stores();
    bool is_stored_to(uint32_t line);
    void warm_data();
    void mark(uint32_t address, unsigned lanes);

    Memory *memory_of(uint32_t address)
    {
        for (auto &memory : memories_)
            if (memory.holds(address))
                return &memory;
        return nullptr;
    }
    uint32_t word(uint32_t address)
    {
        const auto *memory = memory_of(address);
        if (!memory)
            fail(options_.program, "address " + hexadecimal(address) + " is in no memory of board " + board_.name);
        return memory->read(address);
    }
    uint8_t byte(uint32_t address) { return uint8_t(word(address) >> (8 * (address & 3))); }

    const Options &options_;
    const Board &board_;
    const Program &program_;
    std::vector<Memory> memories_;
    Devices devices_;
    VCore core_;
    uint64_t cycle_ = 0;
    Generator traffic_;
    unsigned traffic_wait_ = 0, traffic_left_ = 0;
    bool accessed_ = false;    // the access of the last cycle still waits for its answer
    uint64_t answered_ = 0;    // when the last one was
    uint64_t read_ = 0;        // when the last one was that read
    uint64_t behind_mark_ = 0; // accesses since the last mark was stored
    bool cold_now_ = false, masks_now_ = false; // caches are emptied at the end of this cycle
    bool refilling_ = false;
    uint32_t refill_begun_ = 0;
    File marks_, retired_, refills_, accesses_, data_, emptyings_, latencies_;
    uint32_t emptied_ = 0;                           // how often the caches were
    std::map<uint32_t, std::vector<uint32_t>> warm_; // by that, where a service begins, and lines of data
    std::map<uint32_t, std::vector<uint32_t>> full_; // sets of instructions by that, which are not warm
    std::vector<uint32_t> rises_;                    // cycles in which the line of an interrupt rises
    size_t risen_ = 0;                               // how many of these have been
    bool raised_ = false;                            // of a copy of the board: the line is up
    bool jumped_ = false;                            // and the core has taken it
    bool entered_ = false;                           // and the first instruction of the handler retires in this cycle
    std::vector<uint32_t> waiting_;                  // lines that are still to be put into the cache, or kept there
    uint32_t begin_ = 0;                             // where the service begins that they are for
    bool begun_ = false;                             // and whether it has
    std::deque<uint32_t> posted_;                    // addresses of stores that retired, until the bus took them
    unsigned early_ = 0;                             // stores that the bus took in the cycle in which they retire
};

void Bench::load()
{
    for (const auto &segment : program_.segments)
        for (size_t i = 0; i < segment.bytes.size(); i++) {
            const uint32_t address = segment.address + uint32_t(i);
            auto *memory = memory_of(address);
            if (!memory)
                fail(options_.program, "the program has contents at " + hexadecimal(address) +
                                           ", where board " + board_.name + " has no memory");
            memory->bytes[address - memory->timing.base] = segment.bytes[i];
        }
    for (auto &memory : memories_)
        for (size_t at = 0; at + sizeof SEMIHOSTING_CALL <= memory.bytes.size(); at += 4)
            if (!std::memcmp(&memory.bytes[at], SEMIHOSTING_CALL, sizeof SEMIHOSTING_CALL))
                std::memcpy(&memory.bytes[at], SEMIHOSTING_STORES, sizeof SEMIHOSTING_STORES);
}

// All lines invalid, or those of data alone; but for lines of instructions at these addresses. Both caches write through,
// so nothing is lost.
void Bench::empty_caches(const std::vector<uint32_t> &but)
{
    auto &instruction = core_.VexRiscv->IBusCachedPlugin_cache__DOT__ways_0_tags;
    std::vector<size_t> stay;
    for (const uint32_t address : but)
        stay.push_back(address / LINE_BYTES % std::size(instruction.m_storage));
    for (size_t i = 0; (options_.cold || options_.warm_code) && i < std::size(instruction.m_storage); i++)
        if (std::find(stay.begin(), stay.end(), i) == stay.end())
            instruction.m_storage[i] &= ~1u;
#ifdef CORE_HAS_DATA_CACHE
    auto &data = core_.VexRiscv->dataCache_1__DOT__ways_0_tags;
    for (size_t i = 0; i < std::size(data.m_storage); i++)
        data.m_storage[i] &= ~1u;
#endif
}

// The line of instructions at `address` is in the cache, as if it had been loaded long ago.
void Bench::fill_line(uint32_t address)
{
    const auto *memory = memory_of(address);
    if (!memory)
        return;
    auto &tags = core_.VexRiscv->IBusCachedPlugin_cache__DOT__ways_0_tags.m_storage;
    auto &words = core_.VexRiscv->IBusCachedPlugin_cache__DOT__banks_0.m_storage;
    const size_t line_words = std::size(words) / std::size(tags), bytes = std::size(words) * 4;
    const uint32_t first = address & ~uint32_t(line_words * 4 - 1);
    const uint32_t tag = uint32_t(first / bytes) << 2 | 1;  // address, no error, valid
    auto &there = tags[first / 4 / line_words % std::size(tags)];
    if (there == tag)
        return;
    there = tag;
    for (size_t i = 0; i < line_words; i++)
        words[first / 4 % std::size(words) + i] = memory->read(first + uint32_t(i) * 4);
}

std::vector<uint32_t> Bench::words(const std::string &path)
{
    std::vector<uint32_t> found;
    if (path.empty())
        return found;
    File file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file)
        fail(path, "cannot be read");
    uint32_t word;
    while (std::fread(&word, sizeof word, 1, file.get()) == 1)
        found.push_back(word);
    return found;
}

// What a file says, by how often the caches were emptied before.
std::map<uint32_t, std::vector<uint32_t>> Bench::by_period(const std::string &path)
{
    std::map<uint32_t, std::vector<uint32_t>> found;
    const auto both = words(path);
    for (size_t i = 0; i + 1 < both.size(); i += 2)
        found[both[i]].push_back(both[i + 1]);
    return found;
}

// In a copy of the board, a process of its own: the line is up, until the core has taken the interrupt.
uint32_t Bench::taken()
{
    if (!core_.VexRiscv->CsrPlugin_mie_MSIE)
        return NOT_ENABLED;
    // What the program writes from here on has not happened.
    const int nowhere = open("/dev/null", O_WRONLY);
    for (auto *file : {stdout, marks_.get(), retired_.get(), refills_.get(), accesses_.get(), data_.get(), emptyings_.get(),
                       latencies_.get()})
        if (nowhere < 0 || (file && dup2(nowhere, fileno(file)) < 0))
            fail("/dev/null", "cannot be written");
    raised_ = true;
    while (!entered_) {
        if (devices_.finished() || cycle_ == options_.limit)
            return NEVER_TAKEN;
        cycle();
    }
    return uint32_t(cycle_ - 1);
}

// The line of an interrupt rises in this cycle; what comes of it is found out in a copy.
void Bench::interrupt()
{
    static auto *answer = static_cast<uint32_t *>(
        mmap(nullptr, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t copy = answer == MAP_FAILED ? -1 : fork();
    if (copy < 0)
        fail("bench", "cannot make a copy of the board");
    if (copy == 0) {
        *answer = taken();
        _exit(0);
    }
    int status = 0;
    if (waitpid(copy, &status, 0) != copy || status != 0)
        fail("bench", "the copy with an interrupt in cycle " + std::to_string(cycle_) + " has not ended well");
    const uint32_t record[2] = {uint32_t(cycle_), *answer};
    std::fwrite(record, sizeof record, 1, latencies_.get());
}

// The line of instructions at `address` counts as loaded long ago, if it is asked for now.
bool Bench::is_there(uint32_t address) const
{
    if (!options_.warm_code)
        return options_.ideal;
    if (address >= options_.absent_from && address < options_.absent_to)
        return false;
    const auto full = full_.find(emptied_);
    const size_t sets = std::size(core_.VexRiscv->IBusCachedPlugin_cache__DOT__ways_0_tags.m_storage);
    return full == full_.end() || std::find(full->second.begin(), full->second.end(), address / LINE_BYTES % sets) == full->second.end();
}

bool Bench::is_mark(uint32_t address) const
{
    return address - program_.marks < program_.marks_size;
}

#ifdef CORE_HAS_DATA_CACHE

// A store into the marks retires. The bus may take it long after that, when the service has begun.
bool Bench::stores_mark() const
{
    const auto &core = *core_.VexRiscv;
    return core.lastStageIsFiring && core.writeBack_MEMORY_ENABLE && core.writeBack_MEMORY_WR && is_mark(core.writeBack_REGFILE_WRITE_DATA);
}

// Which stores are on their way to memory, behind the core.
void Bench::follow_stores()
{
    if (!core_.VexRiscv->lastStageIsFiring || !core_.VexRiscv->writeBack_MEMORY_ENABLE || !core_.VexRiscv->writeBack_MEMORY_WR)
        return;
    if (early_)
        early_--;
    else
        posted_.push_back(core_.VexRiscv->writeBack_REGFILE_WRITE_DATA);
}

// A store to this line is on its way and memory does not have it yet; or one that has looked already what the cache holds
// in its place.
bool Bench::is_stored_to(uint32_t line)
{
    const auto &core = *core_.VexRiscv;
    const size_t sets = std::size(core.dataCache_1__DOT__ways_0_tags.m_storage);
    const auto in_set = [&](uint32_t address) { return address / LINE_BYTES % sets == line / LINE_BYTES % sets; };
    for (const uint32_t address : posted_)
        if (address / LINE_BYTES == line / LINE_BYTES)
            return true;
    return (core.dataCache_1_io_cpu_execute_isValid && core.execute_MEMORY_WR && in_set(core.dataCache_1_io_cpu_execute_address)) ||
           (core.dataCache_1_io_cpu_memory_isValid && core.memory_MEMORY_WR && in_set(core.dataCache_1_io_cpu_memory_address)) ||
           (core.writeBack_MEMORY_ENABLE && core.writeBack_MEMORY_WR && in_set(core.writeBack_REGFILE_WRITE_DATA));
}

// Lines that wait are in the cache, as if they had been loaded long ago. What loads another one into the place of one
// before the service begins does not take it; from then on, one whose place the core has taken has gone. One that is
// being stored to waits a while.
void Bench::warm_data()
{
    auto &tags = core_.VexRiscv->dataCache_1__DOT__ways_0_tags.m_storage;
    auto &bytes_0 = core_.VexRiscv->dataCache_1__DOT__ways_0_data_symbol0.m_storage;
    auto &bytes_1 = core_.VexRiscv->dataCache_1__DOT__ways_0_data_symbol1.m_storage;
    auto &bytes_2 = core_.VexRiscv->dataCache_1__DOT__ways_0_data_symbol2.m_storage;
    auto &bytes_3 = core_.VexRiscv->dataCache_1__DOT__ways_0_data_symbol3.m_storage;
    std::vector<uint32_t> later;
    for (const uint32_t line : waiting_) {
        const size_t set = line / LINE_BYTES % std::size(tags), first = set * LINE_BYTES / 4;
        const uint32_t tag = uint32_t(line / (std::size(tags) * LINE_BYTES)) << 2 | 1;  // address, no error, valid
        const auto *memory = memory_of(line);
        if (!memory || (begun_ && (tags[set] & 1)))
            continue;
        if (tags[set] == tag || is_stored_to(line)) {
            later.push_back(line);
            continue;
        }
        tags[set] = tag;
        for (size_t i = 0; i < LINE_BYTES / 4; i++) {
            const uint32_t word = memory->read(line + uint32_t(i) * 4);
            bytes_0[first + i] = uint8_t(word);
            bytes_1[first + i] = uint8_t(word >> 8);
            bytes_2[first + i] = uint8_t(word >> 16);
            bytes_3[first + i] = uint8_t(word >> 24);
        }
        later.push_back(line);
    }
    waiting_ = later;
}

#else

// As above; two stages before, where this core has the address.
bool Bench::stores_mark() const
{
    const auto &core = *core_.VexRiscv;
    return core.execute_arbitration_isFiring && core.execute_MEMORY_ENABLE && core.execute_MEMORY_STORE && is_mark(core.execute_SRC_ADD);
}

void Bench::follow_stores() {}
void Bench::warm_data() {}

#endif

void Bench::mark(uint32_t address, unsigned lanes)
{
    if (!is_mark(address))
        return;
    const uint32_t offset = address - program_.marks;
    for (unsigned lane = 0; lane < 4; lane++)
        if (lanes >> lane & 1)
            std::fprintf(marks_.get(), "%llu,%u\n", static_cast<unsigned long long>(cycle_), offset + lane);
    behind_mark_ = 0;
}

void Bench::data_word()
{
    const uint32_t address = uint32_t(core_.dBusWishbone_ADR) << 2;
    core_.dBusWishbone_ACK = 1;
    accessed_ = false;
    answered_ = cycle_;
    behind_mark_++;
    if (core_.dBusWishbone_WE && posted_.empty())
        early_++;
    else if (core_.dBusWishbone_WE)
        posted_.pop_front();
    if (!core_.dBusWishbone_WE)
        read_ = cycle_;
    if (accesses_) {
        const uint32_t record[3] = {address, uint32_t(cycle_),
                                    uint32_t(core_.dBusWishbone_CTI) << 5 | uint32_t(core_.dBusWishbone_WE) << 4 |
                                        core_.dBusWishbone_SEL};
        std::fwrite(record, sizeof record, 1, accesses_.get());
    }
    if (auto *memory = memory_of(address)) {
        if (core_.dBusWishbone_WE) {
            memory->write(address, core_.dBusWishbone_DAT_MOSI, core_.dBusWishbone_SEL);
            mark(address, core_.dBusWishbone_SEL);
        } else {
            core_.dBusWishbone_DAT_MISO = memory->read(address);
        }
        return;
    }
    uint32_t value = 0;
    const bool known = core_.dBusWishbone_WE
                           ? devices_.write(address, core_.dBusWishbone_DAT_MOSI, core_.dBusWishbone_SEL)
                           : devices_.read(address, value);
    if (!known)
        fail(options_.program, std::string(core_.dBusWishbone_WE ? "writes to " : "reads from ") +
                                   hexadecimal(address) + " in cycle " + std::to_string(cycle_) +
                                   ", where board " + board_.name + " has nothing");
    core_.dBusWishbone_DAT_MISO = value;
}

void Bench::fetched_word()
{
    const uint32_t address = uint32_t(core_.iBusWishbone_ADR) << 2;
    core_.iBusWishbone_ACK = 1;
    core_.iBusWishbone_DAT_MISO = memory_of(address)->read(address);
    if (address % LINE_BYTES == LINE_BYTES - 4) {
        refilling_ = false;
        if (!refills_)
            return;
        const uint32_t record[3] = {address - address % LINE_BYTES, refill_begun_, uint32_t(cycle_)};
        std::fwrite(record, sizeof record, 1, refills_.get());
    }
}

void Bench::traffic()
{
    if (traffic_left_) {
        if (--traffic_left_ == 0)
            traffic_wait_ = board_.traffic.least_gap +
                            (options_.busiest() ? 0 : traffic_.below(board_.traffic.gap - board_.traffic.least_gap + 1));
    }
}

// An access begins in this cycle that the second master has waited for, to its memory. The core waits for a read, and
// for what comes right behind another access; what is written otherwise can wait while the core goes on.
bool Bench::in_the_way(bool accesses, uint32_t address)
{
    if (!accesses || accessed_)
        return false;
    const auto *memory = memory_of(address);
    if (!memory || memory->timing.name != board_.traffic.memory)
        return false;
    switch (options_.in_the_way) {
    case Options::InTheWay::Waited: return !core_.dBusWishbone_WE || cycle_ <= answered_ + 2;
    case Options::InTheWay::Numbered: return behind_mark_ >= options_.which;
    default: return true;
    }
}

void Bench::cycle()
{
    devices_.step(cycle_);
    // What the core asks of the buses follows from what it is told: where that is as before, it need not be found anew.
    const bool software = raised_ || devices_.software();
    const bool told = core_.iBusWishbone_ACK || core_.dBusWishbone_ACK || core_.timerInterrupt != devices_.timer() ||
                      core_.softwareInterrupt != software;
    core_.timerInterrupt = devices_.timer();
    core_.softwareInterrupt = software;
    core_.clk = 0;
    core_.iBusWishbone_ACK = core_.dBusWishbone_ACK = 0;
    if (told)
        core_.eval();

    const uint32_t fetched = uint32_t(core_.iBusWishbone_ADR) << 2, data = uint32_t(core_.dBusWishbone_ADR) << 2;
    const bool fetches = core_.iBusWishbone_STB && core_.iBusWishbone_CYC;
    const bool accesses = core_.dBusWishbone_STB && core_.dBusWishbone_CYC;
    if (fetches && !memory_of(fetched))
        fail(options_.program, "fetches from " + hexadecimal(fetched) + " in cycle " + std::to_string(cycle_) +
                                   ", where board " + board_.name + " has no memory");
    if (fetches && !refilling_)
        refilling_ = true, refill_begun_ = uint32_t(cycle_);
    if (traffic_wait_)
        traffic_wait_--;
    else if (options_.second_master && !traffic_left_ && (!options_.busiest() || in_the_way(accesses, data)))
        traffic_left_ = board_.traffic.beats;
    accessed_ = accesses;
    for (auto &memory : memories_) {
        Request requests[MASTERS];
        if (fetches && memory.holds(fetched))
            requests[INSTRUCTION] = {true, false, 4, core_.iBusWishbone_CTI == 2};
        if (accesses && memory.holds(data))
            requests[DATA] = {true, bool(core_.dBusWishbone_WE),
                              unsigned(__builtin_popcount(core_.dBusWishbone_SEL)),
                              core_.dBusWishbone_CTI == 2};
        if (traffic_left_ && memory.timing.name == board_.traffic.memory)
            requests[TRAFFIC] = {true, false, 4, traffic_left_ > 1};
        switch (memory.step(cycle_ + options_.phase, requests)) {
        case DATA: data_word(); break;
        case INSTRUCTION: fetched_word(); break;
        case TRAFFIC: traffic(); break;
        case MASTERS: break;
        }
    }
    if (accesses && !memory_of(data))
        data_word();
    if (!told || core_.iBusWishbone_ACK || core_.dBusWishbone_ACK)
        core_.eval();

    if (retired_ && core_.VexRiscv->lastStageIsFiring) {
        const uint32_t record[2] = {core_.VexRiscv->lastStagePc, uint32_t(cycle_)};
        std::fwrite(record, sizeof record, 1, retired_.get());
    }
#ifdef CORE_HAS_DATA_CACHE
    // The last stage has the address in the place of a result.
    if (data_ && core_.VexRiscv->lastStageIsFiring && core_.VexRiscv->writeBack_MEMORY_ENABLE) {
        const uint32_t bytes = 1u << (core_.VexRiscv->lastStageInstruction >> 12 & 3);
        const uint32_t record[3] = {core_.VexRiscv->writeBack_REGFILE_WRITE_DATA, uint32_t(cycle_),
                                    uint32_t(core_.VexRiscv->writeBack_MEMORY_WR) << 4 | bytes};
        std::fwrite(record, sizeof record, 1, data_.get());
    }
#endif
    // The core takes it when nothing is under way any more; what retires next is the handler's.
    if (raised_) {
        entered_ = jumped_ && core_.VexRiscv->lastStageIsFiring;
        jumped_ = jumped_ || (core_.VexRiscv->CsrPlugin_interruptJump &&
                              core_.VexRiscv->CsrPlugin_interrupt_code == SOFTWARE_INTERRUPT);
    }
    follow_stores();
    if (options_.empties() && stores_mark())
        cold_now_ = true;
    // Where a handler returns, what was cut by a switch goes on.
    if (options_.empties() && core_.VexRiscv->lastStageIsFiring && core_.VexRiscv->lastStageInstruction == MRET)
        cold_now_ = true;
    // Where the program masks interrupts: one might have run right before, and the instruction that masks was fetched again.
    if (options_.empty_masked && core_.VexRiscv->lastStageIsFiring && clears_mstatus(core_.VexRiscv->lastStageInstruction))
        masks_now_ = true;
    if (is_there(core_.VexRiscv->IBusCachedPlugin_fetchPc_pc))
        fill_line(core_.VexRiscv->IBusCachedPlugin_fetchPc_pc);
    core_.clk = 1;
    core_.eval();
    if (cold_now_ || masks_now_) {
        // What is fetched of this instruction is there: first and last byte of four.
        const uint32_t masks = core_.VexRiscv->lastStagePc;
        empty_caches(masks_now_ && !cold_now_ ? std::vector<uint32_t>{masks, masks + 3} : std::vector<uint32_t>{});
        cold_now_ = masks_now_ = false;
        if (emptyings_) {
            const uint32_t record = uint32_t(cycle_);
            std::fwrite(&record, sizeof record, 1, emptyings_.get());
        }
        emptied_++;
        waiting_ = warm_[emptied_];
        if (!waiting_.empty())
            begin_ = waiting_.front(), waiting_.erase(waiting_.begin());
        begun_ = false;
    } else if (core_.VexRiscv->lastStageIsFiring && core_.VexRiscv->lastStagePc == begin_) {
        begun_ = true;
    }
    // While a line is loaded, another one cannot be put beside it; nor until the load has retired that asked for it.
    if (!waiting_.empty() && !(accesses && !core_.dBusWishbone_WE) && cycle_ > read_ + MISS_RETIRES)
        warm_data();
    cycle_++;
}

int Bench::run()
{
    std::fprintf(marks_.get(), "cycle,offset\n");
    core_.externalResetVector = program_.entry;
    core_.externalInterruptArray = 0;
    core_.iBusWishbone_ERR = core_.dBusWishbone_ERR = 0;
    core_.iBusWishbone_ACK = core_.dBusWishbone_ACK = 0;
    core_.timerInterrupt = core_.softwareInterrupt = 0;
    core_.reset = 1;
    for (int i = 0; i < 10; i++) {
        core_.clk = 0;
        core_.eval();
        core_.clk = 1;
        core_.eval();
    }
    core_.reset = 0;
    while (!devices_.finished()) {
        if (cycle_ == options_.limit)
            fail(options_.program, "has not ended after " + std::to_string(cycle_) + " cycles");
        for (; risen_ < rises_.size() && rises_[risen_] == cycle_; risen_++)
            interrupt();
        cycle();
    }
    std::fprintf(stderr, "board %s: %llu cycles, status %d\n", board_.name.c_str(),
                 static_cast<unsigned long long>(cycle_), devices_.status());
    return devices_.status();
}

}  // namespace

int main(int count, char **words)
{
    const Options chosen = options(count, words);
    Board board = read_board(chosen.board);
    const Program program = read_program(chosen.program);
    if (chosen.second_master && board.traffic.memory.empty())
        fail(chosen.board, "has no second master");
    bool refreshes = false, jitters = false;
    for (auto &memory : board.memories) {
        refreshes = refreshes || memory.refresh_every;
        jitters = jitters || memory.jitter;
        if (!chosen.refresh)
            memory.refresh_every = memory.refresh_takes = 0;
        if (!chosen.jitter)
            memory.jitter = 0;
    }
    if (chosen.refresh && !refreshes)
        fail(chosen.board, "has no memory with refresh");
    if (chosen.jitter && !jitters)
        fail(chosen.board, "has no memory with jitter");
    return Bench(chosen, board, program).run();
}
