// LU factors of a matrix in double, with the largest pivot of each column, and the
// solution of a linear system with them; a small one in one block.
#include <vector>
#include "arrays.h"

__global__ void largest(const double *a, int n, int k, int *pivot)
{
    __shared__ double value[128];
    __shared__ int row[128];
    int t = threadIdx.x;
    value[t] = -1;
    row[t] = k;
    for (int i = k + t; i < n; i += 128)
        if (fabs(a[i * n + k]) > value[t]) {
            value[t] = fabs(a[i * n + k]);
            row[t] = i;
        }
    for (int half = 64; half; half /= 2) {
        __syncthreads();
        if (t < half && (value[t + half] > value[t] || (value[t + half] == value[t] && row[t + half] < row[t]))) {
            value[t] = value[t + half];
            row[t] = row[t + half];
        }
    }
    if (t == 0)
        pivot[k] = row[0];
}

__global__ void swap_rows(double *a, int n, int k, const int *pivot)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, p = pivot[k];
    if (j < n && p != k) {
        double v = a[k * n + j];
        a[k * n + j] = a[p * n + j];
        a[p * n + j] = v;
    }
}

__global__ void scale(double *a, int n, int k)
{
    int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i * n + k] /= a[k * n + k];
}

__global__ void eliminate(double *a, int n, int k)
{
    int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x, i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n)
        a[i * n + j] -= a[i * n + k] * a[k * n + j];
}

// One block: forward substitution, then backward.
__global__ void solve(const double *a, int n, double *x)
{
    for (int k = 0; k < n; k++) {
        for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x)
            x[i] -= a[i * n + k] * x[k];
        __syncthreads();
    }
    for (int k = n - 1; k >= 0; k--) {
        if (threadIdx.x == 0)
            x[k] /= a[k * n + k];
        __syncthreads();
        for (int i = threadIdx.x; i < k; i += blockDim.x)
            x[i] -= a[i * n + k] * x[k];
        __syncthreads();
    }
}

int main()
{
    const int n = 40;
    std::vector<double> a(n * n), lu(n * n), x(n), b(n, 0.0), right_side(n);
    std::vector<int> pivot(n);
    Numbers numbers(7);
    for (double &v : a)
        v = (double)numbers.below(2001) - 1000;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i] += a[i * n + j] * (j + 1);
    double *d_a = upload(a.data(), n * n);
    int *d_pivot = zeros<int>(n);
    NEED(cudaGetLastError());
    for (int k = 0; k < n; k++) {
        largest<<<1, 128>>>(d_a, n, k, d_pivot);
        swap_rows<<<1, 64>>>(d_a, n, k, d_pivot);
        if (k + 1 < n) {
            scale<<<1, 64>>>(d_a, n, k);
            eliminate<<<dim3((n - k + 14) / 16, (n - k + 14) / 16), dim3(16, 16)>>>(d_a, n, k);
        }
    }
    LAUNCHED("factors");
    download(lu.data(), d_a, n * n);
    download(pivot.data(), d_pivot, n);
    // L times U equals the matrix with its rows permuted.
    std::vector<double> swapped = a;
    right_side = b;
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < n; j++)
            std::swap(swapped[k * n + j], swapped[pivot[k] * n + j]);
        std::swap(right_side[k], right_side[pivot[k]]);
    }
    double worst = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k <= i && k <= j; k++)
                sum += (k == i ? 1.0 : lu[i * n + k]) * lu[k * n + j];
            worst = fmax(worst, fabs(sum - swapped[i * n + j]));
        }
    expect(worst < 1e-8, "factors");
    bool small = true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            small = small && fabs(lu[i * n + j]) <= 1;
    expect(small, "pivots");
    double *d_x = upload(right_side.data(), n);
    solve<<<1, 32>>>(d_a, n, d_x);
    LAUNCHED("solve");
    download(x.data(), d_x, n);
    bool right = true;
    for (int i = 0; i < n; i++)
        right = right && fabs(x[i] - (i + 1)) < 1e-8;
    expect(right, "solution");
    printf("%.3f %.3f %.3f\n", x[0], x[1], x[n - 1]);
    return finish();
}
