// Breadth-first search: a queue for each level, claimed by compare-and-swap; and
// connected components by labels that decrease.
#include <algorithm>
#include <vector>
#include "arrays.h"

__global__ void expand(const int *start, const int *to, const int *queue, int n, int *next, int *found, int *level, int now)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int v = queue[i];
    for (int e = start[v]; e < start[v + 1]; e++)
        if (atomicCAS(&level[to[e]], -1, now + 1) == -1)
            next[atomicAdd(found, 1)] = to[e];
}

__global__ void shrink(const int *start, const int *to, int n, int *label, int *changed)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    for (int e = start[v]; e < start[v + 1]; e++) {
        int mine = label[v];
        if (mine < atomicMin(&label[to[e]], mine))
            *changed = 1;
    }
}

int main()
{
    const int n = 4000;
    Numbers numbers(2);
    std::vector<std::vector<int>> edges(n);
    for (int i = 0; i < 6000; i++) {
        // Two components without an edge between them, and many isolated vertices.
        int a = (int)numbers.below(3000), b = (int)numbers.below(3000);
        if ((a < 2000) == (b < 2000)) {
            edges[a].push_back(b);
            edges[b].push_back(a);
        }
    }
    std::vector<int> start(1, 0), to;
    for (auto &list : edges) {
        to.insert(to.end(), list.begin(), list.end());
        start.push_back((int)to.size());
    }
    std::vector<int> expected(n, -1), reached(1, 0);
    expected[0] = 0;
    for (size_t i = 0; i < reached.size(); i++)
        for (int v : edges[reached[i]])
            if (expected[v] < 0) {
                expected[v] = expected[reached[i]] + 1;
                reached.push_back(v);
            }

    int *d_start = upload(start.data(), start.size()), *d_to = upload(to.data(), to.size());
    std::vector<int> level(n, -1);
    level[0] = 0;
    int *d_level = upload(level.data(), n), *queue = zeros<int>(n), *next = zeros<int>(n), *count = zeros<int>(1);
    NEED(cudaGetLastError());
    int size = 1, levels = 0, total = 1;
    for (; size; levels++) {
        CK(cudaMemset(count, 0, sizeof(int)));
        expand<<<(size + 127) / 128, 128>>>(d_start, d_to, queue, size, next, count, d_level, levels);
        if (!LAUNCHED("expand"))
            return finish();
        download(&size, count, 1);
        std::swap(queue, next);
        total += size;
    }
    download(level.data(), d_level, n);
    expect(level == expected, "levels");
    expect(total == (int)reached.size(), "each vertex once");
    printf("%d vertices in %d levels\n", total, levels);

    std::vector<int> label(n), least(n);
    for (int i = 0; i < n; i++)
        label[i] = i;
    int *d_label = upload(label.data(), n), again = 1;
    while (again) {
        CK(cudaMemset(count, 0, sizeof(int)));
        shrink<<<(n + 255) / 256, 256>>>(d_start, d_to, n, d_label, count);
        download(&again, count, 1);
    }
    download(label.data(), d_label, n);
    bool right = true;
    for (int v = 0; v < n; v++)
        for (int w : edges[v])
            right = right && label[v] == label[w];
    for (int v : reached)
        right = right && label[v] == 0;
    expect(right, "components");
    int components = 0;
    for (int v = 0; v < n; v++)
        components += label[v] == v;
    printf("%d components\n", components);
    return finish();
}
