// What the programs share that try every value of an argument: runs of values with the
// same answer are one word of a line.
#pragma once
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

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

// Runs this program again for each part: what one does to its process, the next does not see.
static inline int parts(const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "sweep", names[i], (char *)nullptr);
            _exit(127);
        }
        int status = 0;
        for (int tries = 0; waitpid(pid, &status, WNOHANG) == 0; tries++) {
            if (tries == 3000)
                kill(pid, SIGKILL);
            usleep(10000);
        }
        if (WIFSIGNALED(status))
            printf("%s: ended by signal %d\n", names[i], WTERMSIG(status));
        else if (WEXITSTATUS(status))
            printf("%s: ended with %d\n", names[i], WEXITSTATUS(status));
    }
    puts("end");
    return 0;
}
