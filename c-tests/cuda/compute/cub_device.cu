// CUB's device-wide algorithms, each with its two calls: for the size of temporary storage, and for the work.
#include <algorithm>
#include <vector>
#include <cub/cub.cuh>
#include "arrays.h"

struct Even {
    __host__ __device__ bool operator()(int v) const { return v % 2 == 0; }
};

// The first call returns the size of temporary storage.
template <typename F> static bool twice(F call, const char *what)
{
    void *room = nullptr;
    size_t bytes = 0;
    if (!check(call(room, bytes), what) || !CK(cudaMalloc(&room, bytes ? bytes : 1)))
        return false;
    bool right = check(call(room, bytes), what) && CK(cudaDeviceSynchronize());
    CK(cudaFree(room));
    return right;
}

int main()
{
    const int n = 5000;
    std::vector<int> h(n), out(n), sorted;
    Numbers numbers(19);
    for (int &v : h)
        v = (int)numbers.below(300) - 20;
    int *in = upload(h.data(), n), *d_out = zeros<int>(n), *d_more = zeros<int>(n), *d_one = zeros<int>(2), one[2];
    NEED(cudaGetLastError());
    int sum = 0;
    for (int v : h)
        sum += v;
    twice([&](void *p, size_t &b) { return cub::DeviceReduce::Sum(p, b, in, d_one, n); }, "DeviceReduce::Sum");
    twice([&](void *p, size_t &b) { return cub::DeviceReduce::Min(p, b, in, d_one + 1, n); }, "DeviceReduce::Min");
    download(one, d_one, 2);
    expect(one[0] == sum && one[1] == *std::min_element(h.begin(), h.end()), "reduce");

    twice([&](void *p, size_t &b) { return cub::DeviceScan::ExclusiveSum(p, b, in, d_out, n); }, "DeviceScan");
    download(out.data(), d_out, n);
    bool right = true;
    for (int i = 0, before = 0; i < n; before += h[i], i++)
        right = right && out[i] == before;
    expect(right, "scan");

    twice([&](void *p, size_t &b) { return cub::DeviceRadixSort::SortKeys(p, b, in, d_out, n); }, "DeviceRadixSort");
    download(out.data(), d_out, n);
    sorted = h;
    std::sort(sorted.begin(), sorted.end());
    expect(out == sorted, "radix sort");

    twice([&](void *p, size_t &b) { return cub::DeviceSelect::If(p, b, in, d_more, d_one, n, Even()); }, "DeviceSelect");
    download(one, d_one, 1);
    std::vector<int> even, chosen(n);
    std::copy_if(h.begin(), h.end(), std::back_inserter(even), Even());
    download(chosen.data(), d_more, n);
    expect(one[0] == (int)even.size() && std::equal(even.begin(), even.end(), chosen.begin()), "select");

    int *d_counts = zeros<int>(n);
    twice([&](void *p, size_t &b) { return cub::DeviceRunLengthEncode::Encode(p, b, d_out, d_more, d_counts, d_one, n); },
          "DeviceRunLengthEncode");
    std::vector<int> value(n), count(n);
    download(one, d_one, 1);
    download(value.data(), d_more, n);
    download(count.data(), d_counts, n);
    right = true;
    int all = 0;
    for (int i = 0; i < one[0]; i++) {
        right = right && count[i] == std::count(h.begin(), h.end(), value[i]) && (i == 0 || value[i - 1] < value[i]);
        all += count[i];
    }
    expect(right && all == n, "runs");

    twice([&](void *p, size_t &b) { return cub::DeviceHistogram::HistogramEven(p, b, in, d_counts, 11, -20, 280, n); },
          "DeviceHistogram");
    download(count.data(), d_counts, 10);
    right = true;
    for (int i = 0; i < 10; i++)
        right = right && count[i] == std::count_if(h.begin(), h.end(), [=](int v) { return (v + 20) / 30 == i; });
    expect(right, "histogram");
    printf("%d %d %d\n", sum, (int)even.size(), one[0]);
    return finish();
}
