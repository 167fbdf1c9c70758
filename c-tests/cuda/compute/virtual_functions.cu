// Objects with virtual functions, made and used on the device: shapes, an abstract
// base, overriding in two steps, destructors, a tree of expressions.
#include <new>
#include "arrays.h"

struct Shape {
    __device__ virtual double area() const = 0;
    __device__ virtual int corners() const { return 0; }
    __device__ virtual ~Shape() {}
};
__device__ int destroyed;

struct Circle : Shape {
    double r;
    __device__ Circle(double r) : r(r) {}
    __device__ double area() const override { return 3.0 * r * r; }
    __device__ ~Circle() override { atomicAdd(&destroyed, 1); }
};
struct Rectangle : Shape {
    double a, b;
    __device__ Rectangle(double a, double b) : a(a), b(b) {}
    __device__ double area() const override { return a * b; }
    __device__ int corners() const override { return 4; }
    __device__ ~Rectangle() override { atomicAdd(&destroyed, 100); }
};
struct Square : Rectangle {
    __device__ Square(double a) : Rectangle(a, a) {}
    __device__ double area() const override { return Rectangle::area() + 0.25; }
};

__global__ void make(Shape **shapes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (i % 3 == 0)
        shapes[i] = new Circle(i);
    else if (i % 3 == 1)
        shapes[i] = new Rectangle(i, 2);
    else
        shapes[i] = new Square(i);
}

__global__ void measure(Shape **shapes, int n, double *area, int *corners)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        area[i] = shapes[i]->area();
        atomicAdd(corners, shapes[i]->corners());
    }
}

__global__ void destroy(Shape **shapes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        delete shapes[i];
}

// Placement new, with two bases.
struct Named {
    __device__ virtual char name() const { return '?'; }
};
struct Counted : Shape, Named {
    int n;
    __device__ Counted(int n) : n(n) {}
    __device__ double area() const override { return n; }
    __device__ char name() const override { return (char)('A' + n); }
};
__global__ void placed(char *out)
{
    alignas(Counted) unsigned char room[sizeof(Counted)];
    Counted *c = new (room) Counted((int)threadIdx.x);
    Named *named = c;
    Shape *shape = c;
    out[threadIdx.x] = shape->area() == threadIdx.x ? named->name() : '!';
    c->~Counted();
}

int main()
{
    const int n = 90;
    Shape **shapes = zeros<Shape *>(n);
    double area[n], *d_area = zeros<double>(n);
    int corners = 0, gone = 0, *d_corners = zeros<int>(1);
    NEED(cudaGetLastError());
    make<<<3, 32>>>(shapes, n);
    LAUNCHED("make");
    measure<<<3, 32>>>(shapes, n, d_area, d_corners);
    LAUNCHED("measure");
    download(area, d_area, n);
    download(&corners, d_corners, 1);
    bool right = true;
    for (int i = 0; i < n; i++)
        right = right && area[i] == (i % 3 == 0 ? 3.0 * i * i : i % 3 == 1 ? 2.0 * i : i * i + 0.25);
    expect(right, "areas");
    destroy<<<3, 32>>>(shapes, n);
    LAUNCHED("destroy");
    CK(cudaMemcpyFromSymbol(&gone, destroyed, sizeof gone));
    printf("%d corners, destroyed %d\n", corners, gone);
    char names[9] = {}, *d_names = zeros<char>(8);
    placed<<<1, 8>>>(d_names);
    LAUNCHED("placed");
    download(names, d_names, 8);
    printf("%s\n", names);
    return finish();
}
