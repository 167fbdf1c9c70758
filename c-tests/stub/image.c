/* Reads the signatures of kernels from PTX: written apart from the library
   under test, so that the two can be compared. */
#include "inside.h"

static const char *ptx_of(const void *image) {
    uint32_t magic;
    memcpy(&magic, image, 4);
    if (magic == 0x466243b1) { /* the wrapper: magic, version, data */
        memcpy(&image, (const char *)image + 8, sizeof image);
        memcpy(&magic, image, 4);
    }
    if (magic == 0xba55ed50) return (const char *)image + 16 + 64; /* container and entry header */
    return image;
}

static unsigned size_of_type(const char *type) {
    if (!strncmp(type, "f16x2", 5)) return 4;
    switch (atoi(type + 1)) { /* u32, s32, b32, f32 … */
    case 8: return 1;
    case 16: return 2;
    case 32: return 4;
    default: return 8;
    }
}

static int parse(const char *at, struct signature *out) {
    memset(out, 0, sizeof *out);
    const char *end = strchr(at, ')');
    if (!end) return 0;
    while ((at = strstr(at, ".param")) && at < end && out->count < MOST_PARAMS) {
        at += 6;
        unsigned align = 0, size = 0, elements = 1;
        for (; *at && *at != ',' && *at != ')'; at++) {
            if (!strncmp(at, ".align", 6)) align = atoi(at + 6);
            else if (*at == '.') size = size_of_type(at + 1);
            else if (*at == '[') elements = atoi(at + 1);
        }
        if (!align) align = size;
        out->total = (out->total + align - 1) / align * align;
        out->offset[out->count] = out->total;
        out->size[out->count++] = size * elements;
        out->total += size * elements;
    }
    return 1;
}

int stub_signature(const void *image, const char *kernel, struct signature *out) {
    if (!image) return 0;
    size_t length = strlen(kernel);
    for (const char *at = ptx_of(image); (at = strstr(at, ".entry ")); ) {
        at += 7;
        if (!strncmp(at, kernel, length) && at[length] == '(') return parse(at + length, out);
    }
    return 0;
}

int stub_kernels(const void *image, char (*names)[128], int most) {
    int count = 0;
    for (const char *at = ptx_of(image); (at = strstr(at, ".entry ")) && count < most; count++) {
        at += 7;
        size_t n = strcspn(at, "(");
        if (n > 127) n = 127;
        memcpy(names[count], at, n);
        names[count][n] = 0;
    }
    return count;
}

const char *stub_hex(char *to, size_t room, const struct signature *s, void **args, void **extra) {
    unsigned char block[1024] = {0};
    if (!s || s->total == 0 || s->total > sizeof block || s->total * 2 + 1 > room) return "";
    if (args) {
        for (int i = 0; i < s->count; i++) memcpy(block + s->offset[i], args[i], s->size[i]);
    } else if (extra) {
        size_t size = 0;
        for (; *extra; extra += 2) {
            if (*extra == (void *)1) memcpy(block, extra[1], s->total);
            if (*extra == (void *)2) size = *(size_t *)extra[1];
        }
        if (size != s->total) return "wrong-size";
    } else {
        return "none";
    }
    for (unsigned i = 0; i < s->total; i++) sprintf(to + 2 * i, "%02x", block[i]);
    return to;
}
