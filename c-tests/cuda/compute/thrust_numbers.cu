// Thrust's reductions, scans and transformations: with user-defined operations, with
// iterators that compute, by key, with a predicate, conditional copies.
#include <algorithm>
#include <numeric>
#include <vector>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include "arrays.h"

struct Square {
    __host__ __device__ long long operator()(int v) const { return (long long)v * v; }
};
struct Multiple {
    int of;
    __host__ __device__ bool operator()(int v) const { return v % of == 0; }
};
struct Axpy {
    int a;
    __host__ __device__ int operator()(int x, int y) const { return a * x + y; }
};
struct Larger {
    __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

int main()
{
    NEED(cudaFree(nullptr));
    const int n = 2500;
    std::vector<int> h(n);
    Numbers numbers(17);
    long long sum = 0, squares = 0;
    int most = 0, threes = 0;
    for (int &v : h) {
        v = (int)numbers.below(1000);
        sum += v;
        squares += (long long)v * v;
        most = v > most ? v : most;
        threes += v % 3 == 0;
    }
    thrust::device_vector<int> d(h.begin(), h.end()), out(n), kept(n);
    expect(thrust::reduce(d.begin(), d.end(), 0ll, thrust::plus<long long>()) == sum, "sum");
    expect(thrust::transform_reduce(d.begin(), d.end(), Square(), 0ll, thrust::plus<long long>()) == squares, "squares");
    auto greatest = thrust::max_element(d.begin(), d.end());
    expect(*greatest == most && std::max_element(h.begin(), h.end()) - h.begin() == greatest - d.begin(), "the first greatest");
    expect(thrust::count_if(d.begin(), d.end(), Multiple{3}) == threes, "count");
    expect(thrust::inner_product(d.begin(), d.end(), d.begin(), 0ll) == squares, "inner product");
    long long triangle = thrust::reduce(thrust::make_transform_iterator(thrust::make_counting_iterator(1), Square()),
                                        thrust::make_transform_iterator(thrust::make_counting_iterator(101), Square()));
    printf("%lld\n", triangle);

    std::vector<int> scan(n);
    thrust::inclusive_scan(d.begin(), d.end(), out.begin());
    std::partial_sum(h.begin(), h.end(), scan.begin());
    thrust::host_vector<int> back = out;
    expect(std::equal(scan.begin(), scan.end(), back.begin()), "inclusive scan");
    thrust::exclusive_scan(d.begin(), d.end(), out.begin(), -1, Larger());
    back = out;
    bool right = true;
    for (int i = 0, before = -1; i < n; before = h[i] > before ? h[i] : before, i++)
        right = right && back[i] == before;
    expect(right, "running maximum");

    thrust::sequence(out.begin(), out.end(), 5, 2);
    thrust::transform(d.begin(), d.end(), out.begin(), out.begin(), Axpy{3});
    back = out;
    right = true;
    for (int i = 0; i < n; i++)
        right = right && back[i] == 3 * h[i] + 5 + 2 * i;
    expect(right, "transform");

    auto end = thrust::copy_if(d.begin(), d.end(), kept.begin(), Multiple{3});
    std::vector<int> chosen;
    for (int v : h)
        if (v % 3 == 0)
            chosen.push_back(v);
    back.assign(kept.begin(), end);
    expect(back.size() == chosen.size() && std::equal(chosen.begin(), chosen.end(), back.begin()), "copy if");
    thrust::device_vector<int> parts = d;
    auto middle = thrust::stable_partition(parts.begin(), parts.end(), Multiple{3});
    back.assign(parts.begin(), middle);
    expect(back.size() == chosen.size() && std::equal(chosen.begin(), chosen.end(), back.begin()), "partition");

    // Sums over runs of equal keys.
    std::vector<int> keys(n);
    for (int i = 0; i < n; i++)
        keys[i] = i / 37;
    thrust::device_vector<int> d_keys(keys.begin(), keys.end()), run(n), total(n);
    auto ends = thrust::reduce_by_key(d_keys.begin(), d_keys.end(), d.begin(), run.begin(), total.begin());
    size_t runs = ends.first - run.begin();
    thrust::host_vector<int> totals = total;
    right = runs == (n + 36) / 37;
    for (size_t r = 0; right && r < runs; r++)
        right = totals[r] == std::accumulate(h.begin() + r * 37, h.begin() + std::min<size_t>(n, r * 37 + 37), 0);
    expect(right, "by key");
    thrust::device_vector<int> map(n);
    thrust::sequence(map.rbegin(), map.rend());
    thrust::gather(map.begin(), map.end(), d.begin(), out.begin());
    back = out;
    expect(std::equal(h.rbegin(), h.rend(), back.begin()), "gather");
    printf("%lld %lld %zu\n", sum, squares, runs);
    return finish();
}
