// Mistakes end the run with status 3 and say where, what was expected and what was found.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

[[noreturn]] inline void fail(const std::string &where, const std::string &what)
{
    std::fprintf(stderr, "%s: %s\n", where.c_str(), what.c_str());
    std::exit(3);
}

inline std::string hexadecimal(uint32_t value)
{
    char text[11];
    std::snprintf(text, sizeof text, "0x%08x", value);
    return text;
}
