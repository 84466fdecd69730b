#include "program.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "fail.h"

namespace {

template <typename T> T at(const std::vector<uint8_t> &file, uint64_t offset, const std::string &path)
{
    if (offset + sizeof(T) > file.size())
        fail(path, "the file ends within a header");
    T value;
    std::memcpy(&value, &file[offset], sizeof value);
    return value;
}

}  // namespace

Program read_program(const std::string &path)
{
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
        fail(path, "cannot be read");
    const std::vector<uint8_t> file((std::istreambuf_iterator<char>(stream)), {});
    const auto header = at<Elf32_Ehdr>(file, 0, path);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS32 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_RISCV)
        fail(path, "expected a little-endian ELF file for RISC-V, 32 bits");
    Program program;
    program.entry = header.e_entry;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        const auto segment = at<Elf32_Phdr>(file, header.e_phoff + i * sizeof(Elf32_Phdr), path);
        if (segment.p_type != PT_LOAD || !segment.p_filesz)
            continue;
        if (uint64_t(segment.p_offset) + segment.p_filesz > file.size())
            fail(path, "a segment goes beyond the end of the file");
        const auto from = file.begin() + segment.p_offset;
        program.segments.push_back({segment.p_paddr, {from, from + segment.p_filesz}});
    }
    for (unsigned i = 0; i < header.e_shnum; i++) {
        const auto table = at<Elf32_Shdr>(file, header.e_shoff + i * sizeof(Elf32_Shdr), path);
        if (table.sh_type != SHT_SYMTAB)
            continue;
        const auto names = at<Elf32_Shdr>(file, header.e_shoff + table.sh_link * sizeof(Elf32_Shdr), path);
        for (uint32_t k = 0; k < table.sh_size / sizeof(Elf32_Sym); k++) {
            const auto symbol = at<Elf32_Sym>(file, table.sh_offset + k * sizeof(Elf32_Sym), path);
            static const char wanted[] = "wcet_mark";
            const uint64_t name = uint64_t(names.sh_offset) + symbol.st_name;
            if (name + sizeof wanted <= file.size() && !std::memcmp(&file[name], wanted, sizeof wanted)) {
                program.marks = symbol.st_value;
                program.marks_size = symbol.st_size;
            }
        }
    }
    return program;
}
