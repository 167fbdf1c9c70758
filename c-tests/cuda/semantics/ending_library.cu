// The library that ending_plugin.cpp loads.
#include "ending_calls.h"

static void at(const char *place)
{
    if (way)
        runtime_calls(named_place(place).c_str());
}

static Object object{"global of the library"};
__attribute__((destructor)) static void destruct() { at("destructor function of the library"); }
static void before() { at("handler of the library before"); }
static void after() { at("handler of the library after"); }

extern "C" bool start(const char *name)
{
    way = strdup(name);
    atexit(before);
    if (!make())
        return false;
    atexit(after);
    return true;
}

extern "C" void calls(const char *place) { runtime_calls(place); }

extern "C" void quiet() { way = nullptr; }
