// Templates and lambdas in C++17: kernels over types and sizes, folds over
// any number of arguments, functors with state, CRTP, constexpr tables, if constexpr,
// lambdas that capture, generic ones, and lambdas that return lambdas.
#include <type_traits>
#include <utility>
#include "arrays.h"

template <typename T, int N> struct Vector {
    T v[N];
    __host__ __device__ friend Vector operator+(const Vector &a, const Vector &b)
    {
        Vector r;
        for (int i = 0; i < N; i++)
            r.v[i] = a.v[i] + b.v[i];
        return r;
    }
};
template <typename T, int N> __global__ void add_all(const Vector<T, N> *in, int n, Vector<T, N> *out)
{
    Vector<T, N> sum = {};
    for (int i = 0; i < n; i++)
        sum = sum + in[i];
    *out = sum;
}

template <typename... T> __host__ __device__ auto total(T... t) { return (t + ... + 0); }
template <typename F, typename... T> __global__ void call(long long *out, F f, T... t) { *out = (long long)f(t...); }

template <typename Derived> struct Scaled {
    __device__ int scaled(int v) const { return static_cast<const Derived *>(this)->factor() * v; }
};
struct Triple : Scaled<Triple> {
    __device__ int factor() const { return 3; }
};
struct By : Scaled<By> {
    int by;
    __device__ By(int by) : by(by) {}
    __device__ int factor() const { return by; }
};

template <unsigned N> struct Squares {
    int v[N];
    constexpr Squares() : v() { for (unsigned i = 0; i < N; i++) v[i] = (int)(i * i); }
};
__constant__ constexpr Squares<20> squares;

template <typename T> __global__ void kinds(T *out)
{
    int i = threadIdx.x;
    if constexpr (std::is_floating_point<T>::value)
        out[i] = (T)i / 4;
    else if constexpr (std::is_signed<T>::value)
        out[i] = (T)-i;
    else
        out[i] = (T)(squares.v[i] + Triple().scaled(i) + By(i).scaled(2));
}

template <int... I> __global__ void unrolled(int *out, std::integer_sequence<int, I...>)
{
    ((out[I] = I * I + (int)sizeof...(I)), ...);
}

template <typename F> __global__ void for_each(int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        f(i);
}

struct Captured {
    int scale;
    short shift[3];
};

template <typename T> static bool check_kinds(T factor_of_4)
{
    T out[20], *d = zeros<T>(20);
    kinds<T><<<1, 20>>>(d);
    LAUNCHED("kinds");
    download(out, d, 20);
    bool right = true;
    for (int i = 0; i < 20; i++)
        right = right && (factor_of_4 == (T)0 ? out[i] == (T)(i * i + 5 * i)
                          : std::is_floating_point<T>::value ? out[i] * factor_of_4 == (T)i : out[i] == (T)-i);
    return right;
}

int main()
{
    Vector<double, 3> in[10], sum;
    for (int i = 0; i < 10; i++)
        in[i] = {{(double)i, i * 0.5, -i * 2.0}};
    Vector<double, 3> *d_in = upload(in, 10), *d_sum = zeros<Vector<double, 3>>(1);
    long long value[3], *d_value = zeros<long long>(3);
    NEED(cudaGetLastError());
    add_all<double, 3><<<1, 1>>>(d_in, 10, d_sum);
    LAUNCHED("add_all");
    download(&sum, d_sum, 1);
    printf("%g %g %g\n", sum.v[0], sum.v[1], sum.v[2]);
    auto multiply = [] __device__(auto a, auto b) { return a * b; };
    call<<<1, 1>>>(d_value, multiply, 6, 7.5);
    call<<<1, 1>>>(d_value + 1, [] __device__(int a, short b, char c, long long d) { return total(a, b, c, d); }, 1, (short)2,
                   (char)3, 40000000000ll);
    int offset = 100;
    auto outer = [=] __device__(int a) {
        auto inner = [=](int b) { return a * offset + b; };
        return inner(7) + inner(8);
    };
    call<<<1, 1>>>(d_value + 2, outer, 3);
    LAUNCHED("call");
    download(value, d_value, 3);
    printf("%lld %lld %lld\n", value[0], value[1], value[2]);
    expect(check_kinds<float>(4) && check_kinds<double>(4), "floats");
    expect(check_kinds<int>(1) && check_kinds<signed char>(1) && check_kinds<long long>(1), "signed");
    expect(check_kinds<unsigned>(0) && check_kinds<unsigned short>(0) && check_kinds<unsigned long long>(0), "unsigned");
    int out[50], *d_out = zeros<int>(50);
    unrolled<<<1, 1>>>(d_out, std::make_integer_sequence<int, 9>());
    LAUNCHED("unrolled");
    download(out, d_out, 9);
    printf("%d %d\n", out[0], out[8]);
    Captured captured = {4, {1, 10, 100}};
    for_each<<<1, 64>>>(50, [=] __device__(int i) { d_out[i] = i * captured.scale + captured.shift[i % 3]; });
    LAUNCHED("for_each");
    download(out, d_out, 50);
    bool right = true;
    for (int i = 0; i < 50; i++)
        right = right && out[i] == i * 4 + (i % 3 == 0 ? 1 : i % 3 == 1 ? 10 : 100);
    expect(right, "captured");
    return finish();
}
