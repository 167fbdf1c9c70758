// A tool that looks for NaN: after each launch it waits, reads every buffer that an argument points into, and reports
// the kernel that first left a NaN in a buffer without one. NAN_TYPE is f32 (the default) or f64.
//
//     g++ -shared -fPIC -I include c-tests/tools/nan.cpp -o libnan.so
//     cushim trace --tool ./libnan.so ./app
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cushim.h"

namespace {

const cushim_host *cushim;
std::mutex lock;
std::map<uint64_t, size_t> known; // NaN per allocation, by its address

bool is_double()
{
    const char *type = std::getenv("NAN_TYPE");
    return type && std::string(type) == "f64";
}

template <class T>
size_t count(const std::vector<unsigned char> &bytes, size_t &first)
{
    size_t found = 0;
    for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
        T value;
        std::memcpy(&value, &bytes[i], sizeof value);
        if (std::isnan(value) && found++ == 0)
            first = i / sizeof(T);
    }
    return found;
}

void look(const cushim_launch *launch, uint64_t address, uint32_t parameter)
{
    uint64_t base = 0, size = 0;
    if (address <= 0xffff || cushim->range(address, &base, &size) != 0)
        return;
    std::vector<unsigned char> bytes(size);
    if (cushim->read(bytes.data(), base, size) != 0)
        return;
    size_t first = 0;
    size_t found = is_double() ? count<double>(bytes, first) : count<float>(bytes, first);
    std::lock_guard<std::mutex> guard(lock);
    size_t before = known[base];
    known[base] = found;
    if (found <= before)
        return;
    char name[512];
    cushim->readable(launch->name, name, sizeof name);
    std::string text = "nan: launch " + std::to_string(launch->number) + ", " + name + ": parameter " + std::to_string(parameter)
        + " points to " + std::to_string(found) + " NaN, the first at element " + std::to_string(first);
    cushim->say(text.c_str());
    cushim->mark(text.c_str());
}

void launch_end(const cushim_launch *launch, int status)
{
    if (status != 0 || !launch->args || cushim->capturing(launch) || cushim->synchronize(launch) != 0)
        return;
    for (uint32_t i = 0; i < launch->param_count; i++)
        for (uint32_t at = 0; at + 8 <= launch->params[i].bytes; at += 8) {
            uint64_t word;
            std::memcpy(&word, static_cast<char *>(launch->args) + launch->params[i].offset + at, sizeof word);
            look(launch, word, i);
        }
}

} // namespace

extern "C" const cushim_tool_table *cushim_tool(const cushim_host *host)
{
    static cushim_tool_table table = {};
    table.abi = CUSHIM_ABI;
    table.size = sizeof table;
    table.name = "nan";
    table.launch_end = launch_end;
    cushim = host;
    return &table;
}
