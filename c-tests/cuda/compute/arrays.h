// Shared by the programs of this folder, besides the checked calls: arrays that are
// copied to the device and back.
#pragma once
#include <cmath>
#include "../common.h"

// A copy of `n` elements on the device; null if there is no memory for it.
template <typename T> static T *upload(const T *from, size_t n)
{
    T *to = nullptr;
    if (!CK(cudaMalloc(&to, n * sizeof(T))))
        return nullptr;
    CK(cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}

// `n` elements on the device, all bytes zero.
template <typename T> static T *zeros(size_t n)
{
    T *to = nullptr;
    if (!CK(cudaMalloc(&to, n * sizeof(T))))
        return nullptr;
    CK(cudaMemset(to, 0, n * sizeof(T)));
    return to;
}

template <typename T> static void download(T *to, const T *from, size_t n)
{
    CK(cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost));
}

// Whether two numbers agree, up to a fraction of the larger one.
static inline bool close_to(double a, double b, double share = 1e-5)
{
    return std::fabs(a - b) <= share * std::fmax(1.0, std::fmax(std::fabs(a), std::fabs(b)));
}

template <typename T> static bool all_close(const T *a, const T *b, size_t n, double share = 1e-5)
{
    for (size_t i = 0; i < n; i++)
        if (!close_to((double)a[i], (double)b[i], share))
            return false;
    return true;
}

// Pseudo-random numbers, the same on every machine.
struct Numbers {
    unsigned state;
    explicit Numbers(unsigned seed) : state(seed) {}
    unsigned next()
    {
        state = state * 1664525u + 1013904223u;
        return state >> 8;
    }
    unsigned below(unsigned n) { return next() % n; }
    // In [0, 1), in steps of 2^-24.
    float unit() { return (float)next() / 16777216.0f; }
};
