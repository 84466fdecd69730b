#include "board.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "fail.h"

namespace {

class Reader {
public:
    explicit Reader(std::string path) : path_(std::move(path)) {}

    [[noreturn]] void wrong(const YAML::Node &node, const std::string &what) const
    {
        const YAML::Mark mark = node.Mark();
        fail(path_ + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1), what);
    }

    void only(const YAML::Node &map, const std::set<std::string> &keys) const
    {
        if (!map.IsMap())
            wrong(map, "expected a mapping");
        std::set<std::string> seen;
        for (const auto &entry : map) {
            const auto key = entry.first.as<std::string>();
            if (!keys.count(key))
                wrong(entry.first, "unknown key '" + key + "'");
            if (!seen.insert(key).second)
                wrong(entry.first, "key '" + key + "' is given twice");
        }
    }

    uint32_t number(const YAML::Node &map, const char *key, uint32_t least, uint32_t most,
                    const uint32_t *otherwise = nullptr) const
    {
        const YAML::Node node = map[key];
        if (!node) {
            if (otherwise)
                return *otherwise;
            wrong(map, std::string("'") + key + "' is missing");
        }
        const auto text = node.IsScalar() ? node.Scalar() : std::string();
        char *end = nullptr;
        const bool hex = text.rfind("0x", 0) == 0;
        const unsigned long long value = std::strtoull(text.c_str(), &end, hex ? 16 : 10);
        if (text.empty() || text[0] == '-' || *end || value < least || value > most)
            wrong(node, std::string("'") + key + "' is '" + text + "', expected a whole number from " +
                            std::to_string(least) + " to " + std::to_string(most));
        return static_cast<uint32_t>(value);
    }

    uint32_t number_or(const YAML::Node &map, const char *key, uint32_t least, uint32_t most,
                       uint32_t otherwise) const
    {
        return number(map, key, least, most, &otherwise);
    }

    MemoryTiming memory(const YAML::Node &key, const YAML::Node &map) const
    {
        only(map, {"base", "size", "width", "first", "next", "bursts", "divider", "refresh", "jitter"});
        MemoryTiming it;
        it.name = key.as<std::string>();
        it.base = number(map, "base", 0, 0xffffffff);
        it.size = number(map, "size", 4, 1u << 30);
        it.width = number_or(map, "width", 8, 32, 32);
        if (it.width != 8 && it.width != 16 && it.width != 32)
            wrong(map["width"], "a memory is 8, 16 or 32 bits wide");
        it.first = number(map, "first", 1, 1000);
        it.next = number_or(map, "next", 1, 1000, it.first);
        it.divider = number_or(map, "divider", 1, 64, 1);
        it.jitter = number_or(map, "jitter", 0, 1000, 0);
        if (const YAML::Node node = map["bursts"]) {
            if (!node.IsScalar() || (node.Scalar() != "true" && node.Scalar() != "false"))
                wrong(node, "'bursts' is true or false");
            it.bursts = node.Scalar() == "true";
        }
        if (const YAML::Node node = map["refresh"]) {
            only(node, {"every", "takes"});
            it.refresh_every = number(node, "every", 2, 1000000);
            it.refresh_takes = number(node, "takes", 1, it.refresh_every - 1);
        }
        if (it.base % 4 || it.size % 4 || it.base + (it.size - 1) < it.base)
            wrong(map, "a memory begins and ends at a word, below 4 GiB");
        return it;
    }

private:
    std::string path_;
};

}  // namespace

Board read_board(const std::string &path)
{
    YAML::Node root;
    try {
        root = YAML::LoadFile(path);
    } catch (const YAML::Exception &error) {
        fail(path, error.what());
    }
    const Reader reader(path);
    reader.only(root, {"name", "description", "memories", "second master"});
    Board board;
    if (!root["name"] || !root["memories"])
        reader.wrong(root, "expected 'name' and 'memories'");
    board.name = root["name"].as<std::string>();
    reader.only(root["memories"], [&] {
        std::set<std::string> any;
        for (const auto &entry : root["memories"])
            any.insert(entry.first.as<std::string>());
        return any;
    }());
    for (const auto &entry : root["memories"]) {
        board.memories.push_back(reader.memory(entry.first, entry.second));
        for (size_t i = 0; i + 1 < board.memories.size(); i++) {
            const auto &one = board.memories[i], &other = board.memories.back();
            if (one.base - other.base < other.size || other.base - one.base < one.size)
                reader.wrong(entry.first, "memories " + one.name + " and " + other.name + " overlap");
        }
    }
    if (const YAML::Node node = root["second master"]) {
        reader.only(node, {"memory", "beats", "gap", "least gap"});
        board.traffic.memory = node["memory"] ? node["memory"].as<std::string>() : "";
        board.traffic.beats = reader.number(node, "beats", 1, 64);
        board.traffic.gap = reader.number(node, "gap", 0, 100000);
        board.traffic.least_gap = reader.number_or(node, "least gap", 0, board.traffic.gap, 0);
        bool known = false;
        for (const auto &memory : board.memories)
            known = known || memory.name == board.traffic.memory;
        if (!known)
            reader.wrong(node, "'memory' is none of the board's");
    }
    return board;
}
