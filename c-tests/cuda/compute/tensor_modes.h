// The cases of tensor_modes.cu, and the numbers that they copy.
#pragma once
#include <algorithm>

static int width(int type)
{
    const int bytes[13] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type < 13 ? bytes[type] : 1;
}

// Word `i` of memory with numbers: first those that are rounded or flushed, then any bits. The copied numbers and those to which
// they are added differ.
static uint32_t element(int type, size_t i, bool brought)
{
    static const uint32_t singles[] = {0x3f801000, 0x3f800fff, 0x3f801001, 0x3f803000, 0x3f802fff, 0x3f803001, 0xbf801000, 0xbf803000,
                                       0x3f800001, 0x3fffffff, 0x7f7fffff, 0x7f7fefff, 0x7f7ff000, 0xff7fffff, 0x7f800000, 0xff800000,
                                       0x7fc00000, 0x7fffffff, 0x7f800001, 0x7fa00000, 0xffc00001, 0xff800001, 0x7f801000, 0x7f802000,
                                       0x00000001, 0x00000fff, 0x00001000, 0x00001001, 0x00002000, 0x00003000, 0x007fffff, 0x007ff000,
                                       0x80000001, 0x80001000, 0x807fffff, 0x00800000, 0x00801000, 0x80800000, 0x00000000, 0x80000000,
                                       0x00400000, 0x80400000, 0x7ff77ff7, 0x7fffe000, 0x3f7fffff, 0x40490fdb, 0x00800001, 0x007fefff};
    static const uint16_t halves[] = {0x0001, 0x03ff, 0x8001, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7fff,
                                      0x7c01, 0x7ff7, 0x3c00, 0xbc00, 0x0000, 0x8000, 0x7f80, 0xff80, 0x7f81, 0x0080};
    const size_t n = sizeof(singles) / 4, h = sizeof(halves) / 2;
    if (width(type) == 2 && i < 64) {
        size_t k = brought ? i : 7 * i + 3;
        return halves[2 * k % h] | uint32_t(halves[(2 * k + 1) % h]) << 16;
    }
    if (width(type) == 4 && i < n)
        return singles[brought ? i : (5 * i + 8) % n];
    uint32_t x = uint32_t(i) * 2654435761u + (brought ? 12345 : 777);
    for (int k = 0; k < 3; k++)
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    // A quarter of them are subnormal singles.
    return x & 3 ? x : x & 0x807fffff;
}

static std::string text(const char *format, int a = 0, int b = 0, int c = 0, int d = 0)
{
    char line[160];
    snprintf(line, sizeof(line), format, a, b, c, d);
    return line;
}

// Rows narrower than the swizzle's width, and swizzles of later devices.
static void narrow(std::vector<Case> &all)
{
    for (int what : {LOAD, STORE})
        for (int swizzle = 1; swizzle <= 6; swizzle++)
            for (int row = 16; row <= (swizzle == 1 ? 32 : swizzle == 2 ? 64 : 128); row += 16) {
                Case c;
                c.name = text("narrow %d: swizzle %d, rows of %d bytes", what, swizzle, row);
                c.swizzle = swizzle, c.box[0] = row / 4, c.box[1] = 10;
                c.order.what = what, c.order.at[0] = 4, c.order.at[1] = 1;
                all.push_back(c);
            }
    for (int swizzle = 1; swizzle <= 3; swizzle++) {
        Case c;
        c.name = text("narrow: swizzle %d, 3 axes, step 2", swizzle);
        c.swizzle = swizzle, c.rank = c.order.axes = 3, c.box[1] = 5, c.box[2] = 3, c.steps[1] = 2;
        all.push_back(c);
        c.name = text("narrow: swizzle %d, bytes, outside", swizzle);
        c.type = 0, c.sizes[0] = 250, c.box[0] = 16, c.order.at[0] = 240, c.order.at[2] = 2;
        all.push_back(c);
        c = Case();
        c.name = text("narrow: swizzle %d, added", swizzle);
        c.swizzle = swizzle, c.box[1] = 10, c.order.what = ADD, c.show = BITS;
        all.push_back(c);
        c = Case();
        c.name = text("narrow: swizzle %d, columns", swizzle);
        c.swizzle = swizzle, c.rank = c.order.axes = 4, c.order.what = COLUMNS, c.pixels = 12;
        c.sizes[1] = 5, c.order.at[1] = c.order.at[2] = -1;
        all.push_back(c);
    }
    Case c;
    c.name = "step 2 along the innermost axis";
    c.steps[0] = 2, c.box[0] = 8;
    all.push_back(c);
}

// Floating-point elements outside the tensor.
static void filled(std::vector<Case> &all)
{
    for (int type = 6; type <= 12; type++)
        for (int fill = 0; fill < 2; fill++)
            for (int swizzle = 0; swizzle < 2; swizzle++) {
                int w = width(type);
                Case c;
                c.name = text("filled %d: type %d, swizzle %d", fill, type, swizzle);
                c.show = BITS, c.type = type, c.fill = fill, c.swizzle = swizzle;
                c.sizes[0] = 256 / w - 1, c.box[0] = 32 / w, c.order.at[0] = 224 / w, c.order.at[1] = 14;
                all.push_back(c);
                if (swizzle)
                    continue;
                c.name = text("filled %d: type %d, before", fill, type);
                c.order.at[0] = -16 / w, c.order.at[1] = -1;
                all.push_back(c);
                c.name = text("filled %d: type %d, columns", fill, type);
                c.rank = c.order.axes = 4, c.order.what = COLUMNS, c.sizes[1] = 5, c.order.at[0] = 224 / w;
                c.order.at[1] = c.order.at[2] = -1;
                all.push_back(c);
            }
}

// Elements that are rounded or flushed: copied in, copied out, as im2col; added.
static void rounded(std::vector<Case> &all)
{
    for (int type = 0; type <= 12; type++) {
        bool single = type == 7 || type >= 10;
        for (int what : {LOAD, COLUMNS, STORE, ADD, MIN, MAX}) {
            bool reduces = what == ADD || ((what == MIN || what == MAX) && (type == 6 || type == 9 || type == 11));
            if (!single && !reduces)
                continue;
            Case c;
            c.name = text("rounded: type %d, copy %d", type, what);
            c.show = BITS, c.type = type, c.order.what = what, c.sizes[1] = 16;
            c.sizes[0] = c.box[0] = 256 / width(type), c.box[1] = 16;
            if (width(type) == 1)
                c.box[0] = 128;
            if (what == COLUMNS)
                c.rank = c.order.axes = 3, c.pixels = 16, c.lower[0] = c.upper[0] = 0;
            all.push_back(c);
        }
    }
}

// Layouts in slices of 16 and 32 bytes: pixels, lines, slices of channels, images.
// Rows of boxes must be multiples of 16 bytes by their types, too: most cases are of 8 bytes.
static Case slices(int interleave, int rank, int type, int swizzle)
{
    Case c;
    c.type = type, c.interleave = interleave, c.swizzle = swizzle, c.rank = c.order.axes = rank;
    cuuint64_t sizes[3][5] = {{8, 3, 2}, {8, 6, 3, 2}, {8, 6, 4, 3, 2}};
    cuuint32_t boxes[3][5] = {{4, 1, 1}, {4, 3, 1, 1}, {4, 3, 2, 1, 1}};
    std::copy_n(sizes[rank - 3], 5, c.sizes);
    std::copy_n(boxes[rank - 3], 5, c.box);
    cuuint64_t bytes = 16 * interleave;
    for (int k = 0; k + 1 < rank; k++)
        c.strides[k] = bytes *= c.sizes[k];
    return c;
}

static void interleaved(std::vector<Case> &all)
{
    for (int interleave = 1; interleave <= 2; interleave++)
        for (int swizzle = interleave == 2 ? 1 : 0; swizzle <= (interleave == 2 ? 1 : 3); swizzle++)
            for (int rank = 3; rank <= 5; rank++) {
                // All questions about the layout use one swizzle.
                bool full = swizzle == interleave - 1;
                for (int type : {0, 1, 2, 4}) {
                    Case c = slices(interleave, rank, type, swizzle);
                    c.name = text("slices of %d: rank %d, type %d, swizzle %d", 16 * interleave, rank, type, swizzle);
                    all.push_back(c);
                }
                for (int axis = 0; full && axis < rank; axis++)
                    for (int at : {-1, 1, 2, 3, 6, 8}) {
                        Case c = slices(interleave, rank, 4, swizzle);
                        c.name = text("slices of %d: rank %d, axis %d at %d", 16 * interleave, rank, axis, at) + text(", swizzle %d", swizzle);
                        c.order.at[axis] = at;
                        all.push_back(c);
                    }
                for (int axis = 0; full && axis < rank; axis++) {
                    Case c = slices(interleave, rank, 4, swizzle);
                    c.name = text("slices of %d: rank %d, axis %d of box 2, swizzle %d", 16 * interleave, rank, axis, swizzle);
                    c.box[axis] = 2;
                    all.push_back(c);
                    c.name += ", steps 2";
                    c.box[axis] = 6, c.steps[axis] = 2;
                    all.push_back(c);
                    c = slices(interleave, rank, 1, swizzle);
                    c.name = text("slices of %d: rank %d, axis %d 24 long, swizzle %d", 16 * interleave, rank, axis, swizzle);
                    c.sizes[axis] = 24, c.order.at[axis] = 4;
                    all.push_back(c);
                }
                for (int what : {STORE, ADD}) {
                    Case c = slices(interleave, rank, 2, swizzle);
                    c.name = text("slices of %d: rank %d, copy %d, swizzle %d", 16 * interleave, rank, what, swizzle);
                    c.order.what = rank == 5 ? int(STORE) : what, c.order.at[0] = 6, c.order.at[1] = 1;
                    c.show = what == ADD ? BITS : PLACES;
                    all.push_back(c);
                }
                for (cuuint32_t channels : {2u, 8u, 16u}) {
                    if (!full && channels != 8)
                        continue;
                    Case c = slices(interleave, rank, 4, swizzle);
                    c.name = text("slices of %d: rank %d, columns of %d channels, swizzle %d", 16 * interleave, rank, int(channels), swizzle);
                    c.order.what = COLUMNS, c.box[0] = channels, c.pixels = 12;
                    std::fill_n(c.lower, 3, 0);
                    all.push_back(c);
                    c.name += ", offsets";
                    c.order.offsets[0] = 1, c.order.at[0] = 1;
                    all.push_back(c);
                }
            }
    for (int type : {6, 7, 11}) {
        Case c = slices(1, 4, type, 0);
        c.name = text("slices filled: type %d", type);
        c.fill = 1, c.show = BITS, c.order.at[0] = 6;
        all.push_back(c);
    }
}

static std::vector<Case> cases()
{
    std::vector<Case> all;
    narrow(all);
    filled(all);
    rounded(all);
    interleaved(all);
    return all;
}
