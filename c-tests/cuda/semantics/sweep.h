// Shared by the programs that try every value of an argument: a run of values with the
// same result is one word of a line.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "again.h"

typedef long long Value;

// The printed form of a value: small ones plainly, single bits as such.
static inline std::string shown(Value value)
{
    char text[40];
    unsigned long long bits = (unsigned long long)value;
    if (value < 1024 && value > -1024)
        snprintf(text, sizeof text, "%lld", value);
    else if ((bits & (bits - 1)) == 0)
        snprintf(text, sizeof text, "1<<%d", __builtin_ctzll(bits));
    else
        snprintf(text, sizeof text, "%#llx", bits);
    return text;
}

// All combinations of the lowest `low` bits, each other single bit, and all bits.
static inline std::vector<Value> flags(int low, int width = 32)
{
    std::vector<Value> values;
    for (Value v = 0; v < (Value)1 << low; v++)
        values.push_back(v);
    for (int bit = low; bit < width; bit++)
        values.push_back((Value)((unsigned long long)1 << bit));
    values.push_back(width == 64 ? (Value)-1 : (Value)0xffffffff);
    return values;
}

// The numbers of a range, both ends included, and some far outside.
static inline std::vector<Value> numbers(Value from, Value to)
{
    std::vector<Value> values;
    for (Value v = from; v <= to; v++)
        values.push_back(v);
    values.push_back(100000000);
    values.push_back(0x7fffffff);
    values.push_back(-0x7fffffff - (Value)1);
    return values;
}

// One line: the called function, and the result for each value.
static inline void sweep(const std::string &name, const std::vector<Value> &values,
                         const std::function<std::string(Value)> &call)
{
    std::string line = name + ":", last, first, until;
    auto put = [&] {
        if (!first.empty())
            line += " " + (first == until ? first : first + ".." + until) + " " + last + ",";
    };
    for (Value value : values) {
        std::string answer = call(value);
        if (first.empty() || answer != last) {
            put();
            first = shown(value);
            last = answer;
        }
        until = shown(value);
    }
    put();
    line.back() = '.';
    puts(line.c_str());
    fflush(stdout);
}

// A result, and the value that a successful call stored. By reference: it is read after the call.
// `named` differs between the APIs: "ok", or the error's name.
template <class E, class T> static std::string with(E result, const T &value)
{
    std::string text = named(result);
    return text == "ok" ? text + "=" + shown((Value)value) : text;
}

// Numbers of devices; only 0 is a device or stands for one: hosts have negative numbers.
static const std::vector<Value> devices = {-0x80000000ll, -3, -2, -1, 0, 1, 2, 100000000, 0x7fffffff};

// Sizes near those to which limits are rounded.
static const std::vector<Value> sizes = {0, 1, 7, 8, 16, 17, 32, 33, 64, 65, 128, 129, 1000, 1024, 1025, 4096, 65536, 65537, 262143, 262144, 524272,
                                         524288, 1 << 20, (1 << 20) + 1, 1 << 22, 1 << 24, (1 << 25) + 7, 1 << 30};

// A part of a program, run in a process of its own.
struct Part {
    const char *name;
    void (*run)();
};

// The program: runs each part in its process.
static inline int all_parts(int argc, char **argv, const std::vector<Part> &parts)
{
    for (const Part &part : parts) {
        if (argc <= 1)
            again(part.name, nullptr, 3 * PATIENCE); // Programs that create contexts take long beside others.
        else if (!strcmp(argv[1], part.name))
            part.run();
    }
    if (argc <= 1)
        puts("end");
    return 0;
}
