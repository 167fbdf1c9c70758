// What the programs share that try every value of an argument: runs of values with the
// same answer are one word of a line.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "again.h"

typedef long long Value;

// A value as it is printed: small ones plainly, single bits as such.
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

// All combinations of the lowest `low` bits, then each other single bit, then all of them.
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

// The numbers from one to another, both included, and some far outside.
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

// One line: what is called, and the answer for each value.
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

// A result, and what a successful call stored. By reference: it is read when the call has returned.
// `named` is each face's own: "ok", or the error's name.
template <class E, class T> static std::string with(E result, const T &value)
{
    std::string text = named(result);
    return text == "ok" ? text + "=" + shown((Value)value) : text;
}

// Numbers of devices, of which only 0 is one, or stands for one: hosts have negative numbers.
static const std::vector<Value> devices = {-0x80000000ll, -3, -2, -1, 0, 1, 2, 100000000, 0x7fffffff};

// Sizes around what limits are rounded to.
static const std::vector<Value> sizes = {0, 1, 7, 8, 16, 17, 32, 33, 64, 65, 128, 129, 1000, 1024, 1025, 4096, 65536, 65537, 262143, 262144, 524272,
                                         524288, 1 << 20, (1 << 20) + 1, 1 << 22, 1 << 24, (1 << 25) + 7, 1 << 30};

// A part of a program, and the process that runs it.
struct Part {
    const char *name;
    void (*run)();
};

// The program: each part in a process of its own.
static inline int all_parts(int argc, char **argv, const std::vector<Part> &parts)
{
    for (const Part &part : parts) {
        if (argc <= 1)
            again(part.name, nullptr, 3 * PATIENCE); // Those that make contexts take long beside others.
        else if (!strcmp(argv[1], part.name))
            part.run();
    }
    if (argc <= 1)
        puts("end");
    return 0;
}
