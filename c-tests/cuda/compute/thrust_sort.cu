// Thrust's orderings: sort, by key, stable, with a user-defined comparison, on
// tuples; searching, merging, sets, unique elements.
#include <algorithm>
#include <numeric>
#include <vector>
#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/merge.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/unique.h>
#include "arrays.h"

struct ByLastDigit {
    __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};

template <typename T> static bool same(const thrust::device_vector<T> &d, const std::vector<T> &h)
{
    thrust::host_vector<T> back = d;
    return back.size() == h.size() && std::equal(h.begin(), h.end(), back.begin());
}

int main()
{
    NEED(cudaFree(nullptr));
    const int n = 3000;
    std::vector<int> h(n);
    Numbers numbers(16);
    for (int &v : h)
        v = (int)numbers.below(5000) - 1000;
    thrust::device_vector<int> d(h.begin(), h.end()), places(n);
    std::vector<int> order(n), sorted = h;

    thrust::sequence(places.begin(), places.end());
    thrust::device_vector<int> keys = d;
    thrust::stable_sort_by_key(keys.begin(), keys.end(), places.begin());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return h[a] < h[b]; });
    std::sort(sorted.begin(), sorted.end());
    expect(same(keys, sorted) && same(places, order), "by key");

    thrust::sort(d.begin(), d.end(), thrust::greater<int>());
    std::vector<int> down(sorted.rbegin(), sorted.rend());
    expect(same(d, down), "downwards");
    thrust::stable_sort(d.begin(), d.end(), ByLastDigit());
    std::stable_sort(down.begin(), down.end(), ByLastDigit());
    expect(same(d, down), "by the last digit");

    thrust::device_vector<float> reals(n);
    std::vector<float> host_reals(n);
    for (float &v : host_reals)
        v = numbers.unit() - 0.5f;
    thrust::copy(host_reals.begin(), host_reals.end(), reals.begin());
    thrust::sort(reals.begin(), reals.end());
    std::sort(host_reals.begin(), host_reals.end());
    expect(same(reals, host_reals), "floats");

    d.assign(sorted.begin(), sorted.end());
    d.erase(thrust::unique(d.begin(), d.end()), d.end());
    std::vector<int> distinct = sorted;
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    expect(same(d, distinct), "unique");
    thrust::device_vector<int> wanted(3), found(3);
    wanted[0] = -2000;
    wanted[1] = 17;
    wanted[2] = 9999;
    thrust::lower_bound(d.begin(), d.end(), wanted.begin(), wanted.end(), found.begin());
    bool right = true;
    for (int i = 0; i < 3; i++)
        right = right && found[i] == std::lower_bound(distinct.begin(), distinct.end(), (int)wanted[i]) - distinct.begin();
    expect(right, "search");

    std::vector<int> a(sorted.begin(), sorted.begin() + 1000), b(sorted.begin() + 500, sorted.begin() + 2000), both(2500), common(1000);
    thrust::device_vector<int> d_a(a.begin(), a.end()), d_b(b.begin(), b.end()), d_both(2500), d_common(1000);
    thrust::merge(d_a.begin(), d_a.end(), d_b.begin(), d_b.end(), d_both.begin());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin());
    expect(same(d_both, both), "merge");
    d_common.erase(thrust::set_intersection(d_a.begin(), d_a.end(), d_b.begin(), d_b.end(), d_common.begin()), d_common.end());
    common.erase(std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), common.begin()), common.end());
    expect(same(d_common, common), "intersection");
    printf("%zu distinct, from %d to %d\n", distinct.size(), distinct.front(), distinct.back());
    return finish();
}
