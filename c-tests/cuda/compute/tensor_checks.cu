// Which tensor maps the driver accepts: the results of cuTensorMapEncodeTiled, …Im2col and …ReplaceAddress, rule by rule and for all
// combinations of type, interleave, swizzle and fill. Nothing is launched. The expected output must be recorded on a GPU.
#include "../common.h"
#include <cuda.h>
#include <stdint.h>
#include <string>

typedef CUresult (*Tiled)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                          const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                          CUtensorMapFloatOOBfill);
typedef CUresult (*Columns)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const int *,
                            const int *, cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
typedef CUresult (*Replace)(CUtensorMap *, void *);

static Tiled tiled;
static Columns columns;
static Replace replace;
static char *memory;

// The parameters of a map. The defaults make a valid one of three axes.
struct Map {
    int type = CU_TENSOR_MAP_DATA_TYPE_UINT32, rank = 3;
    size_t from = 0;
    cuuint64_t sizes[5] = {64, 8, 8, 2, 2}, strides[4] = {1024, 8192, 65536, 131072};
    cuuint32_t box[5] = {8, 4, 2, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
    int interleave = 0, swizzle = 0, promotion = 0, fill = 0;
    int lower[3] = {-1, -1, -1}, upper[3] = {-1, -1, -1};
    cuuint32_t channels = 8, pixels = 16;
    int misplaced = 0;

    int made(bool of_columns) const
    {
        alignas(64) static char room[192];
        CUtensorMap *map = (CUtensorMap *)(room + misplaced);
        void *address = memory + from;
        CUtensorMapDataType t = CUtensorMapDataType(type);
        CUtensorMapInterleave i = CUtensorMapInterleave(interleave);
        CUtensorMapSwizzle w = CUtensorMapSwizzle(swizzle);
        CUtensorMapL2promotion p = CUtensorMapL2promotion(promotion);
        CUtensorMapFloatOOBfill f = CUtensorMapFloatOOBfill(fill);
        return of_columns ? columns(map, t, rank, address, sizes, strides, lower, upper, channels, pixels, steps, i, w, p, f)
                          : tiled(map, t, rank, address, sizes, strides, box, steps, i, w, p, f);
    }
};

static char shown(int status) { return status == 0 ? '.' : status < 10 ? char('0' + status) : status == 801 ? 'x' : '?'; }

static void both(const char *what, const Map &map)
{
    printf("%-44s tiled %c columns %c\n", what, shown(map.made(false)), shown(map.made(true)));
    fflush(stdout);
}

#define WITH(change)                                                                                                                         \
    do {                                                                                                                                      \
        Map m;                                                                                                                                \
        change;                                                                                                                               \
        both(#change, m);                                                                                                                     \
    } while (0)

// Bytes of an element; 0: packed, in bits.
static const int BYTES[16] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 0, 0, 0};

// For each type and interleave, rows of 16, 32, 48, 64, 128 and 256 bytes: a character for each swizzle from 0 to 7, without
// NaN fill and with it.
static void choices(bool of_columns)
{
    const int rows[] = {16, 32, 48, 64, 128, 256};
    for (int type = 0; type <= 16; type++)
        for (int interleave = 0; interleave < 3; interleave++) {
            std::string line;
            for (int row : rows) {
                for (int fill = 0; fill < 2; fill++)
                    for (int swizzle = 0; swizzle < 8; swizzle++) {
                        Map m;
                        m.type = type, m.interleave = interleave, m.swizzle = swizzle, m.fill = fill;
                        int size = type < 16 ? BYTES[type] : 4;
                        m.box[0] = m.channels = size ? row / size : row * 2;
                        m.sizes[0] = 256;
                        line += shown(m.made(of_columns));
                    }
                line += ' ';
            }
            printf("%s type %2d interleave %d: %s\n", of_columns ? "columns" : "tiled  ", type, interleave, line.c_str());
        }
}

static void rules()
{
    const cuuint64_t K40 = 1ull << 40, K32 = 1ull << 32;
    WITH(m.rank = 3);
    for (int rank = 0; rank <= 6; rank++)
        for (int interleave = 0; interleave < 3; interleave++) {
            Map m;
            m.rank = rank, m.interleave = interleave, m.swizzle = interleave == 2 ? 1 : 0;
            printf("rank %d interleave %d: tiled %c columns %c\n", rank, interleave, shown(m.made(false)), shown(m.made(true)));
        }
    WITH(m.misplaced = 8);
    WITH(m.misplaced = 16);
    WITH(m.misplaced = 32);
    WITH(m.from = 4);
    WITH(m.from = 8);
    WITH(m.from = 16);
    WITH((m.interleave = 1, m.from = 16));
    WITH((m.interleave = 2, m.swizzle = 1, m.from = 16));
    WITH((m.interleave = 2, m.swizzle = 1, m.from = 32));
    WITH(m.sizes[0] = 0);
    WITH(m.sizes[2] = 0);
    WITH(m.sizes[0] = K32);
    WITH(m.sizes[0] = K32 + 1);
    WITH(m.sizes[2] = K32);
    WITH(m.sizes[2] = K32 + 1);
    WITH(m.sizes[0] = 1);
    WITH(m.sizes[0] = 257);
    WITH(m.sizes[0] = 512);
    WITH(m.strides[0] = 0);
    WITH(m.strides[0] = 8);
    WITH(m.strides[0] = 16);
    WITH(m.strides[0] = 24);
    WITH(m.strides[0] = 128);
    WITH(m.strides[1] = 16);
    WITH(m.strides[1] = 1024);
    WITH(m.strides[1] = 0);
    WITH(m.strides[1] = K40 - 16);
    WITH(m.strides[1] = K40);
    WITH((m.strides[0] = K40 - 16, m.strides[1] = 16));
    WITH((m.interleave = 2, m.swizzle = 1, m.strides[0] = 1040));
    WITH((m.interleave = 1, m.strides[0] = 1040));
    WITH(m.box[0] = 0);
    WITH(m.box[0] = 2);
    WITH(m.box[0] = 6);
    WITH(m.box[0] = 256);
    WITH(m.box[0] = 257);
    WITH(m.box[0] = 260);
    WITH(m.box[1] = 0);
    WITH(m.box[1] = 256);
    WITH(m.box[1] = 257);
    WITH((m.box[0] = 256, m.box[1] = 256, m.box[2] = 256));
    WITH((m.box[0] = 64, m.box[1] = 256, m.box[2] = 4));
    WITH((m.interleave = 1, m.box[0] = 1));
    WITH((m.interleave = 1, m.box[0] = 3));
    WITH((m.interleave = 1, m.box[0] = 256));
    WITH((m.interleave = 1, m.box[1] = 2));
    WITH((m.interleave = 2, m.swizzle = 1, m.box[0] = 1));
    WITH((m.interleave = 2, m.swizzle = 0));
    WITH((m.interleave = 2, m.swizzle = 2));
    WITH((m.interleave = 1, m.swizzle = 3, m.box[0] = 256));
    WITH(m.steps[0] = 0);
    WITH(m.steps[0] = 2);
    WITH(m.steps[0] = 8);
    WITH(m.steps[0] = 9);
    WITH((m.steps[0] = 0, m.interleave = 1));
    WITH((m.steps[0] = 2, m.interleave = 1));
    WITH((m.steps[0] = 9, m.interleave = 1));
    WITH(m.steps[1] = 0);
    WITH(m.steps[1] = 8);
    WITH(m.steps[1] = 9);
    WITH(m.type = -1);
    WITH(m.type = 17);
    WITH(m.interleave = -1);
    WITH(m.interleave = 3);
    WITH(m.swizzle = -1);
    WITH(m.swizzle = 8);
    WITH(m.promotion = -1);
    WITH(m.promotion = 1);
    WITH(m.promotion = 3);
    WITH(m.promotion = 4);
    WITH(m.fill = -1);
    WITH(m.fill = 1);
    WITH(m.fill = 2);
    WITH((m.fill = 1, m.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
    WITH((m.fill = 2, m.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
}

static void packed()
{
    for (int type = 13; type <= 15; type++)
        for (cuuint64_t size : {cuuint64_t(64), cuuint64_t(127), cuuint64_t(128), cuuint64_t(130), cuuint64_t(256)})
            for (cuuint32_t box : {32u, 64u, 128u, 256u}) {
                Map m;
                m.type = type, m.sizes[0] = size, m.box[0] = m.channels = box;
                m.swizzle = 0;
                int plain = m.made(false), of_columns = m.made(true);
                m.from = 16;
                int odd = m.made(false);
                m.from = 0, m.strides[0] = 1040;
                int stride = m.made(false);
                m.strides[0] = 1024, m.fill = 1;
                int fill = m.made(false);
                printf("packed %d, %d elements, box %d: tiled %c columns %c odd address %c odd stride %c fill %c\n", type, int(size), int(box),
                       shown(plain), shown(of_columns), shown(odd), shown(stride), shown(fill));
            }
}

static void corners()
{
    WITH(m.channels = 0);
    WITH(m.channels = 2);
    WITH(m.channels = 256);
    WITH(m.channels = 257);
    WITH(m.channels = 260);
    WITH(m.pixels = 0);
    WITH(m.pixels = 1);
    WITH(m.pixels = 1024);
    WITH(m.pixels = 1025);
    const int ends[] = {-32769, -32768, -129, -128, -17, -16, -9, -8, -7, 0, 7, 8, 9, 15, 16, 127, 128, 32767, 32768};
    for (int rank = 3; rank <= 5; rank++)
        for (int side = 0; side < 2; side++)
            for (int axis = 0; axis < rank - 2; axis++) {
                std::string line;
                for (int end : ends) {
                    Map m;
                    m.rank = rank;
                    for (int k = 0; k < 3; k++)
                        m.lower[k] = m.upper[k] = 0;
                    (side ? m.upper : m.lower)[axis] = end;
                    line += shown(m.made(true));
                }
                printf("columns rank %d %s corner of axis %d: %s\n", rank, side ? "upper" : "lower", axis, line.c_str());
            }
}

static void replaced()
{
    for (int interleave = 0; interleave < 3; interleave++) {
        Map m;
        m.interleave = interleave, m.swizzle = interleave == 2 ? 1 : 0;
        alignas(64) static char room[192];
        CUtensorMap *map = (CUtensorMap *)room;
        int made = tiled(map, CUtensorMapDataType(m.type), m.rank, memory, m.sizes, m.strides, m.box, m.steps,
                         CUtensorMapInterleave(m.interleave), CUtensorMapSwizzle(m.swizzle), CUtensorMapL2promotion(0),
                         CUtensorMapFloatOOBfill(0));
        printf("interleave %d: made %c, replaced by +0 %c +8 %c +16 %c +32 %c null %c", interleave, shown(made), shown(replace(map, memory)),
               shown(replace(map, memory + 8)), shown(replace(map, memory + 16)), shown(replace(map, memory + 32)),
               shown(replace(map, nullptr)));
        printf("\n");
    }
}

int main()
{
    void *found[3] = {};
    const char *names[3] = {"cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuTensorMapReplaceAddress"};
    cudaDriverEntryPointQueryResult how;
    for (int k = 0; k < 3; k++)
        CK(cudaGetDriverEntryPointByVersion(names[k], &found[k], 12000, cudaEnableDefault, &how));
    tiled = Tiled(found[0]), columns = Columns(found[1]), replace = Replace(found[2]);
    if (!tiled || !columns || !replace)
        return finish();
    NEED(cudaMalloc(&memory, 1 << 20));
    choices(false);
    choices(true);
    rules();
    packed();
    corners();
    replaced();
    CK(cudaFree(memory));
    return finish();
}
