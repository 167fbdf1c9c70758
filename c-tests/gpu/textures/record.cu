// Records a GPU's results for textures and surfaces: `record DIR PART` writes DIR/PART.idx and DIR/PART.bin, which
// scripts/record-textures reads. Parts: see main; `trapN` shows how the N-th invalid access ends.
#include "levels.h"
#include "sampled.h"
#include "surfaces.h"

int main(int argc, char **argv)
{
    std::string dir = argv[1], what = argv[2];
    data = fopen((dir + "/" + what + ".bin").c_str(), "wb");
    idx = fopen((dir + "/" + what + ".idx").c_str(), "w");
    cudaFree(0);
    CU(cuInit(0));
    if (what == "addressing")
        addressing();
    if (what == "weights")
        weights();
    if (what == "formats")
        formats();
    if (what == "integers")
        integers();
    if (what == "cubes")
        cubes();
    if (what == "mips")
        mips();
    if (what == "gathers")
        gathers();
    if (what == "queries")
        queries();
    if (what == "surfaces")
        surfaces();
    if (what.substr(0, 4) == "trap")
        traps(atoi(what.c_str() + 4));
    printf("%s: end, %d, %ld bytes\n", what.c_str(), cudaDeviceSynchronize(), off);
    fclose(data);
    fclose(idx);
    return 0;
}
