/* A kernel with more argument bytes than a trace keeps of one launch: two arrays of
   PARTS bytes, whose bytes count up. */
#define NO_STUBS
#include "cuda.h"

enum { PART = 3000 };
#define NAME "_Z3big4partS_"
IMAGE(big, PTX_HEAD ".visible .entry " NAME "(.param .align 8 .b8 a[3000], .param .align 8 .b8 b[3000])\n{ ret; }\n");
static char stub_of_big[1];

int main(void) {
    void **h = __cudaRegisterFatBinary((void *)&big_wrapper);
    __cudaRegisterFunction(h, stub_of_big, (char *)NAME, NAME, -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(h);
    static unsigned char parts[2][PART];
    for (int i = 0; i < 2 * PART; i++) parts[i / PART][i % PART] = (unsigned char)(i % 251);
    void *args[] = {parts[0], parts[1]};
    for (unsigned i = 1; i <= 5; i++)
        if (cudaLaunchKernel(stub_of_big, d3(i, 1, 1), d3(1, 1, 1), args, 0, NULL)) return 1;
    __cudaUnregisterFatBinary(h);
    printf("done\n");
    return 0;
}
