// What the programs about the end of a process share: all sorts of calls, made at one
// place and printed as one line, calls with the same answer together.
#pragma once
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

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

// Runs this program again with two words, and says how it ended where that is not well.
static inline void again(const char *one, const char *two)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "ending", one, two, (char *)nullptr);
        _exit(127);
    }
    int status = 0;
    // One that does not end is ended: threads that block signals need the one that they cannot.
    for (int tries = 0; waitpid(pid, &status, WNOHANG) == 0; tries++) {
        if (tries == 1500)
            kill(pid, SIGKILL);
        usleep(10000);
    }
    if (WIFSIGNALED(status))
        printf("%s %s: ended by signal %d\n", one, two, WTERMSIG(status));
    else if (WEXITSTATUS(status))
        printf("%s %s: ended with %d\n", one, two, WEXITSTATUS(status));
    fflush(stdout);
}
