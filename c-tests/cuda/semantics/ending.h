// What the programs about the end of a process share: all sorts of calls, made at one
// place and printed as one line, calls with the same answer together.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "again.h"

// The answers at the place before. Not inside of the class: that would keep a library from being unloaded.
// Never destroyed: it is used to the end.
static std::string &answers_before = *new std::string;

// The answers at one place: the one given most often stands first, for all others.
class Answers {
    std::vector<std::pair<std::string, std::string>> all;

public:
    void add(const char *call, const std::string &answer) { all.emplace_back(call, answer); }
    // A place whose name begins with = is printed only where its answers are not those of the one before.
    void print(const char *place) const
    {
        std::vector<std::pair<std::string, std::vector<std::string>>> groups;
        for (const auto &one : all) {
            size_t g = 0;
            while (g < groups.size() && groups[g].first != one.second)
                g++;
            if (g == groups.size())
                groups.push_back({one.second, {}});
            groups[g].second.push_back(one.first);
        }
        size_t most = 0;
        for (size_t g = 0; g < groups.size(); g++)
            if (groups[g].second.size() > groups[most].second.size())
                most = g;
        std::string line;
        if (groups.size() > 1)
            line += "all but these ";
        line += groups.empty() ? "nothing" : groups[most].first;
        for (size_t g = 0; g < groups.size(); g++) {
            if (g == most)
                continue;
            line += "; " + groups[g].first;
            for (const std::string &call : groups[g].second)
                line += " " + call;
        }
        if (*place != '=' || line != answers_before)
            printf("%s: %s\n", place, line.c_str());
        fflush(stdout);
        answers_before = line;
    }
};

// The way to end that this process goes; null while its places are silent.
static const char *way;

// Makes the calls at a place: each program's own. A place whose name begins with = is printed as Answers says.
static void at(const char *place);

static inline bool is(const char *name) { return strcmp(way, name) == 0; }

// What a place is called in what is printed.
static inline std::string named_place(const char *place) { return (*place == '=' ? "=" : "") + std::string(way) + ", " + place; }

// An object whose destructor is a place: each file's own.
namespace {
struct Object {
    const char *name;
    ~Object() { at(name); }
};
} // namespace

// The program: `run` goes one way, in a process of its own for each.
static inline int all_ways(int argc, char **argv, const std::vector<const char *> &ways, int (*run)())
{
    if (argc > 1) {
        way = argv[1];
        return run();
    }
    for (const char *one : ways)
        again(one);
    puts("end");
    return 0;
}
