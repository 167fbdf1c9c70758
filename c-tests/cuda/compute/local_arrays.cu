// Local arrays of a thread, indexed by values known only at run time: queens on a
// board, permutations in order, a small sort, a stack machine.
#include <algorithm>
#include "arrays.h"

// Each thread places the queens of the first two rows and searches the rest.
__global__ void queens(int n, int *solutions)
{
    int row_of[12], first = threadIdx.x / n, second = threadIdx.x % n, count = 0;
    if (first >= n)
        return;
    row_of[0] = first;
    row_of[1] = second;
    if (second == first || second == first + 1 || second == first - 1)
        return;
    int at = 2;
    row_of[2] = -1;
    while (at >= 2) {
        int c = ++row_of[at];
        if (c >= n) {
            at--;
            continue;
        }
        bool free = true;
        for (int i = 0; i < at && free; i++)
            free = row_of[i] != c && row_of[i] - c != i - at && row_of[i] - c != at - i;
        if (!free)
            continue;
        if (at == n - 1)
            count++;
        else
            row_of[++at] = -1;
    }
    atomicAdd(solutions, count);
}

// The i-th permutation of 0…6.
__global__ void permutation(char *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    char left[7], mine[7];
    for (int k = 0; k < 7; k++)
        left[k] = (char)k;
    int weight = 720, rest = i;
    for (int k = 0; k < 7; k++) {
        int d = rest / weight;
        rest %= weight;
        mine[k] = left[d];
        for (int j = d; j < 6; j++)
            left[j] = left[j + 1];
        weight /= 6 - k > 0 ? 6 - k : 1;
    }
    for (int k = 0; k < 7; k++)
        out[i * 7 + k] = mine[k];
}

__global__ void sort_mine(short *v, int each)
{
    short mine[24];
    short *from = v + (blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (int i = 0; i < each; i++) {
        int j = i;
        for (; j && mine[j - 1] > from[i]; j--)
            mine[j] = mine[j - 1];
        mine[j] = from[i];
    }
    for (int i = 0; i < each; i++)
        from[i] = mine[i];
}

// Reverse Polish: digits, operators, `d` duplicates the top, `x` swaps the top two.
__global__ void calculate(const char *text, long long *out)
{
    long long stack[16];
    int top = 0;
    for (const char *c = text + threadIdx.x * 32; *c; c++) {
        long long a = top > 0 ? stack[top - 1] : 0, b = top > 1 ? stack[top - 2] : 0;
        switch (*c) {
        case '+': stack[--top - 1] = b + a; break;
        case '-': stack[--top - 1] = b - a; break;
        case '*': stack[--top - 1] = b * a; break;
        case '/': stack[--top - 1] = a ? b / a : 0; break;
        case 'd': stack[top++] = a; break;
        case 'x': stack[top - 1] = b; stack[top - 2] = a; break;
        default: stack[top++] = *c - '0';
        }
    }
    out[threadIdx.x] = stack[top - 1];
}

int main()
{
    int *solutions = zeros<int>(1), found = 0;
    NEED(cudaGetLastError());
    const int board = 7, permutations = 5040, each = 24, lists = 64;
    queens<<<1, 64>>>(board, solutions);
    LAUNCHED("queens");
    download(&found, solutions, 1);
    printf("%d ways for %d queens\n", found, board);

    static char all[permutations * 7];
    char *d_all = zeros<char>(permutations * 7), next[7] = {0, 1, 2, 3, 4, 5, 6};
    permutation<<<(permutations + 127) / 128, 128>>>(d_all, permutations);
    LAUNCHED("permutation");
    download(all, d_all, permutations * 7);
    bool right = true;
    for (int i = 0; i < permutations; i++) {
        right = right && memcmp(next, all + i * 7, 7) == 0;
        std::next_permutation(next, next + 7);
    }
    expect(right, "permutations");

    static short v[lists * each];
    Numbers numbers(9);
    for (short &s : v)
        s = (short)numbers.below(2000) - 1000;
    short *d_v = upload(v, lists * each);
    sort_mine<<<2, lists / 2>>>(d_v, each);
    LAUNCHED("sort_mine");
    static short sorted[lists * each];
    download(sorted, d_v, lists * each);
    for (int i = 0; i < lists; i++)
        std::sort(v + i * each, v + (i + 1) * each);
    expect(memcmp(v, sorted, sizeof v) == 0, "lists");

    const char text[4][32] = {"12+34+*", "9d*d*", "72x-5x/", "99*9*9*9*9*8-"};
    long long results[4];
    char *d_text = upload(&text[0][0], sizeof text);
    long long *d_results = zeros<long long>(4);
    calculate<<<1, 4>>>(d_text, d_results);
    LAUNCHED("calculate");
    download(results, d_results, 4);
    printf("%lld %lld %lld %lld\n", results[0], results[1], results[2], results[3]);
    return finish();
}
