// Shared by the programs about the end of a process: all sorts of calls, made at one
// place and printed as one line, with calls of the same result grouped.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "again.h"

// The results at the previous place. Not inside the class: that would keep a library from being unloaded.
// Never destroyed, as it is used until the end.
static std::string &answers_before = *new std::string;

// The results at one point: the most frequent one is first and represents all calls that are not named.
class Answers {
    std::vector<std::pair<std::string, std::string>> all;

public:
    void add(const char *call, const std::string &answer) { all.emplace_back(call, answer); }
    // A place whose name begins with = is printed only if its results differ from those of the previous place.
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

// The way to end that this process takes; null while its places print nothing.
static const char *way;

// Makes the calls at a place; each program defines its own. A place whose name begins with = is printed as Answers says.
static void at(const char *place);

static inline bool is(const char *name) { return strcmp(way, name) == 0; }

// The printed name of a place.
static inline std::string named_place(const char *place) { return (*place == '=' ? "=" : "") + std::string(way) + ", " + place; }

// An object whose destructor is a place; each file defines its own.
namespace {
struct Object {
    const char *name;
    ~Object() { at(name); }
};
} // namespace

// The call that is being made; a process that does not end says which it was.
static const char *volatile present_call = "none";

static void stuck(int)
{
    char line[160];
    int length = snprintf(line, sizeof line, "%s: the call %s does not return\n", way, present_call);
    _exit(write(STDOUT_FILENO, line, length) == length ? 3 : 4);
}

// The program: `run` takes one way to end, in a process of its own.
static inline int all_ways(int argc, char **argv, const std::vector<const char *> &ways, int (*run)())
{
    if (argc > 1) {
        way = argv[1];
        signal(SIGALRM, stuck);
        alarm(2 * PATIENCE);
        return run();
    }
    for (const char *one : ways)
        again(one, nullptr, 3 * PATIENCE); // Contexts are created one at a time on a GPU, beside others too.
    puts("end");
    return 0;
}
