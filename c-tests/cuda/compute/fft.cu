// A fast Fourier transform of 1,024 points in shared memory, forward and back, compared
// with the defining sum; and a convolution by it.
#include <vector>
#include "arrays.h"

const int N = 1024;

__global__ void fft(const float2 *in, float2 *out, float sign)
{
    __shared__ float2 data[2][N];
    int t = threadIdx.x, batch = blockIdx.x * N, from = 0;
    data[0][t] = in[batch + t];
    data[0][t + N / 2] = in[batch + t + N / 2];
    // Stockham: no bit reversal, two alternating buffers.
    for (int half = 1; half < N; half *= 2) {
        __syncthreads();
        int k = t & (half - 1);
        float2 a = data[from][t], b = data[from][t + N / 2];
        float s, c;
        sincospif(sign * (float)k / (float)half, &s, &c);
        float2 w = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
        int to = (t - k) * 2 + k;
        data[1 - from][to] = make_float2(a.x + w.x, a.y + w.y);
        data[1 - from][to + half] = make_float2(a.x - w.x, a.y - w.y);
        from = 1 - from;
    }
    __syncthreads();
    out[batch + t] = data[from][t];
    out[batch + t + N / 2] = data[from][t + N / 2];
}

__global__ void multiply(const float2 *a, const float2 *b, float2 *out, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = make_float2((a[i].x * b[i].x - a[i].y * b[i].y) * by, (a[i].x * b[i].y + a[i].y * b[i].x) * by);
}

int main()
{
    std::vector<float2> in(2 * N, make_float2(0, 0)), out(2 * N), back(2 * N);
    Numbers numbers(4);
    for (int i = 0; i < 2 * N; i++)
        in[i] = make_float2((float)numbers.below(9) - 4, i < N ? (float)numbers.below(9) - 4 : 0);
    float2 *d_in = upload(in.data(), 2 * N), *d_out = zeros<float2>(2 * N), *d_back = zeros<float2>(2 * N);
    NEED(cudaGetLastError());
    fft<<<2, N / 2>>>(d_in, d_out, -1);
    LAUNCHED("forward");
    fft<<<2, N / 2>>>(d_out, d_back, 1);
    LAUNCHED("back");
    download(out.data(), d_out, 2 * N);
    download(back.data(), d_back, 2 * N);
    double worst = 0, worst_back = 0;
    for (int k = 0; k < N; k += 37) {
        double re = 0, im = 0;
        for (int i = 0; i < N; i++) {
            double angle = -2 * M_PI * ((long long)i * k % N) / N;
            re += in[i].x * cos(angle) - in[i].y * sin(angle);
            im += in[i].x * sin(angle) + in[i].y * cos(angle);
        }
        worst = fmax(worst, fmax(fabs(re - out[k].x), fabs(im - out[k].y)));
    }
    for (int i = 0; i < 2 * N; i++)
        worst_back = fmax(worst_back, fmax(fabs(back[i].x / N - in[i].x), fabs(back[i].y / N - in[i].y)));
    expect(worst < 1e-2, "forward");
    expect(worst_back < 1e-4, "forward and back");

    // The circular convolution of both rows.
    multiply<<<N / 256, 256>>>(d_out, d_out + N, d_back, 1.0f / N);
    fft<<<1, N / 2>>>(d_back, d_in, 1);
    download(back.data(), d_in, N);
    bool right = true;
    for (int k = 0; k < N; k += 101) {
        int re = 0, im = 0;
        for (int i = 0; i < N; i++) {
            re += (int)in[i].x * (int)in[N + (k - i + N) % N].x;
            im += (int)in[i].y * (int)in[N + (k - i + N) % N].x;
        }
        right = right && lroundf(back[k].x) == re && lroundf(back[k].y) == im;
    }
    expect(right, "convolution");
    printf("first %ld %ld\n", lroundf(back[0].x), lroundf(back[0].y));
    return finish();
}
