// Integers of 128 bits, signed and unsigned: compilers generate long chains of
// additions and subtractions with carries for them, and both kinds in division.
#include <vector>
#include "arrays.h"

typedef unsigned __int128 U;
typedef __int128 S;
typedef unsigned long long Half;

const int EDGES = 20, PAIRS = EDGES * EDGES + 1648;
enum Operation { ADD, SUB, MUL, DIV, REM, LEFT, RIGHT, COMPARE, MIXED, NARROW, FLOATS, BACK, SERIES, OPERATIONS };
static const char *const names[] = {"add", "subtract", "multiply", "divide", "remainder", "shift left", "shift right",
                                    "compare", "mixed", "narrow", "to floats", "from floats", "series"};

__host__ __device__ static inline U joined(Half high, Half low) { return (U)high << 64 | low; }

__host__ __device__ static inline Half bits_of(double x)
{
    union {
        double number;
        Half bits;
    } both = {x};
    return both.bits;
}

__host__ __device__ static inline unsigned bits_of_float(float x)
{
    union {
        float number;
        unsigned bits;
    } both = {x};
    return both.bits;
}

// A double that is in range once its fraction is cut off.
template <typename T> __host__ __device__ static inline double moderate(T a)
{
    double x = (double)(long long)(Half)a * 9007199254740993.0;
    return (T)-1 < (T)1 ? x : x < 0 ? -x : x;
}

template <typename T> __host__ __device__ static U result(int what, T a, T b)
{
    unsigned by = (unsigned)(Half)b & 127;
    T divisor = b == 0 ? (T)3 : b;
    // The only quotient that overflows.
    if ((T)-1 < (T)1 && divisor == (T)-1)
        divisor = (T)7;
    switch (what) {
    case ADD:
        return (U)a + (U)b;
    case SUB:
        return (U)a - (U)b;
    case MUL:
        return (U)a * (U)b;
    case DIV:
        return (U)(a / divisor);
    case REM:
        return (U)(a % divisor);
    case LEFT:
        return (U)a << by;
    case RIGHT:
        return (U)(a >> by);
    case COMPARE:
        return (U)((a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | (a >= b) << 5 |
                   (!a) << 6 | (a > 0) << 7);
    case MIXED:
        // Carries of sums go into differences, and the other way round.
        return ((U)a + (U)b) - (((U)a ^ (U)b) * 5 - ((U)b >> 1)) + ~(U)a;
    case NARROW:
        return joined((Half)a ^ (Half)(long long)(int)b, (unsigned)a + (Half)(unsigned short)b + (Half)(signed char)a);
    case FLOATS:
        return joined(bits_of((double)a), bits_of_float((float)b));
    case BACK:
        return (U)(T)moderate(a) + ((U)(T)(float)((int)(unsigned)(Half)b & 0xffffff) << 100);
    default:
        break;
    }
    // The decimal digits, as for printing.
    U digits = 0;
    for (T rest = a; rest != 0; rest /= 10) {
        int digit = (int)(rest % 10);
        digits = digits * 31 + (unsigned)(digit < 0 ? -digit : digit);
    }
    return digits;
}

template <typename T> __global__ void every(int what, const U *a, const U *b, U *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < PAIRS)
        out[i] = result<T>(what, (T)a[i], (T)b[i]);
}

static Half checksum(const std::vector<U> &list)
{
    Half sum = 14695981039346656037ull;
    for (U v : list)
        for (int k = 0; k < 128; k += 8)
            sum = (sum ^ (unsigned char)(v >> k)) * 1099511628211ull;
    return sum;
}

template <typename T> static void compare(const char *type, const std::vector<U> &a, const std::vector<U> &b)
{
    U *d_a = upload(a.data(), PAIRS), *d_b = upload(b.data(), PAIRS), *d_out = zeros<U>(PAIRS);
    for (int what = 0; what < OPERATIONS; what++) {
        every<T><<<(PAIRS + 127) / 128, 128>>>(what, d_a, d_b, d_out);
        LAUNCHED("every");
        std::vector<U> got(PAIRS), want(PAIRS);
        download(got.data(), d_out, PAIRS);
        for (int i = 0; i < PAIRS; i++)
            want[i] = result<T>(what, (T)a[i], (T)b[i]);
        printf("%s %s %016llx", type, names[what], checksum(got));
        for (int i : {EDGES + 3, 7 * EDGES + 5, PAIRS - 9})
            printf(" %016llx:%016llx", (Half)(got[i] >> 64), (Half)got[i]);
        printf("\n");
        expect(got == want, names[what]);
    }
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_out);
}

int main()
{
    const Half top = 1ull << 63, all = ~0ull;
    const U edges[EDGES] = {
        joined(0, 0),        joined(0, 1),       joined(0, 2),       joined(0, all),        joined(1, 0),
        joined(1, 1),        joined(all, all),   joined(all, 0),     joined(all, all - 1),  joined(top, 0),
        joined(top, 1),      joined(top - 1, all), joined(0, top),   joined(0, top - 1),    joined(all, top),
        joined(0, 1ull << 32), joined(0, (1ull << 32) - 1), joined(1ull << 32, 0), joined(0, 10), joined(7, all),
    };
    std::vector<U> a, b;
    for (U x : edges)
        for (U y : edges) {
            a.push_back(x);
            b.push_back(y);
        }
    Numbers numbers(128);
    while (a.size() < PAIRS) {
        U v[2];
        for (U &x : v) {
            x = 0;
            for (int k = 0; k < 6; k++)
                x = x << 24 ^ numbers.next();
            x >>= numbers.below(126);
            if (numbers.below(4) == 0)
                x = ~x;
        }
        a.push_back(v[0]);
        // Sometimes close to the other number, or to a multiple of it.
        b.push_back(numbers.below(5) ? v[1] : v[0] / (1 + numbers.below(9)) - numbers.below(2));
    }
    compare<U>("unsigned", a, b);
    compare<S>("signed", a, b);
    return finish();
}
