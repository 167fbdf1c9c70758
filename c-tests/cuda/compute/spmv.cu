// A sparse matrix times a vector: a thread per row, a warp per row, and in ELLPACK.
#include <vector>
#include "arrays.h"

__global__ void by_thread(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row]; i < start[row + 1]; i++)
        sum += value[i] * x[column[i]];
    y[row] = sum;
}

__global__ void by_warp(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32)
        sum += value[i] * x[column[i]];
    for (int delta = 16; delta; delta /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, delta);
    if (lane == 0)
        y[row] = sum;
}

__global__ void ellpack(int rows, int width, const int *column, const float *value, const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int k = 0; k < width; k++) {
        int c = column[k * rows + row];
        if (c >= 0)
            sum += value[k * rows + row] * x[c];
    }
    y[row] = sum;
}

int main()
{
    // Integers below 2^24: the order of additions does not matter.
    const int rows = 1000, columns = 777;
    Numbers numbers(1);
    std::vector<int> start(1, 0), column;
    std::vector<float> value, x(columns), y(rows), expected(rows, 0.0f);
    int width = 0;
    for (float &v : x)
        v = (float)numbers.below(100);
    for (int r = 0; r < rows; r++) {
        int n = r % 50 == 0 ? 120 : (int)numbers.below(8);
        for (int i = 0; i < n; i++) {
            column.push_back((int)numbers.below(columns));
            value.push_back((float)numbers.below(21) - 10);
            expected[r] += value.back() * x[column.back()];
        }
        start.push_back((int)column.size());
        width = n > width ? n : width;
    }
    int *d_start = upload(start.data(), start.size()), *d_column = upload(column.data(), column.size());
    float *d_value = upload(value.data(), value.size()), *d_x = upload(x.data(), x.size()), *d_y = zeros<float>(rows);
    NEED(cudaGetLastError());

    by_thread<<<(rows + 127) / 128, 128>>>(rows, d_start, d_column, d_value, d_x, d_y);
    LAUNCHED("by_thread");
    download(y.data(), d_y, rows);
    expect(y == expected, "by thread");
    CK(cudaMemset(d_y, 0xff, rows * sizeof(float)));
    by_warp<<<(rows * 32 + 127) / 128, 128>>>(rows, d_start, d_column, d_value, d_x, d_y);
    LAUNCHED("by_warp");
    download(y.data(), d_y, rows);
    expect(y == expected, "by warp");

    std::vector<int> padded(width * rows, -1);
    std::vector<float> values(width * rows, 0.0f);
    for (int r = 0; r < rows; r++)
        for (int i = start[r]; i < start[r + 1]; i++) {
            padded[(i - start[r]) * rows + r] = column[i];
            values[(i - start[r]) * rows + r] = value[i];
        }
    int *e_column = upload(padded.data(), padded.size());
    float *e_value = upload(values.data(), values.size());
    CK(cudaMemset(d_y, 0xff, rows * sizeof(float)));
    ellpack<<<(rows + 255) / 256, 256>>>(rows, width, e_column, e_value, d_x, d_y);
    LAUNCHED("ellpack");
    download(y.data(), d_y, rows);
    expect(y == expected, "ellpack");
    printf("%zu values, y[50] = %g\n", value.size(), y[50]);
    return finish();
}
