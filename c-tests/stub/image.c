/* Reads the signatures of kernels from PTX: independent of the library
   under test, so that the two can be compared. */
#include "inside.h"

/* A fat binary's entry: kind, length of its header, length of its payload, and whether that is compressed. */
struct entry { uint16_t kind, version; uint32_t header; uint64_t payload; uint32_t packed; };
enum { PTX_ENTRY = 1, CUBIN_ENTRY = 2 };

/* The part of an image that is used here: the first uncompressed PTX, or else the first part. Returns its
   address and its size (0: it ends with a NUL). */
static const char *part_of(const void *image, uint64_t *size) {
    uint32_t magic;
    memcpy(&magic, image, 4);
    if (magic == 0x466243b1) { /* the wrapper: magic, version, data */
        memcpy(&image, (const char *)image + 8, sizeof image);
        memcpy(&magic, image, 4);
    }
    *size = 0;
    if (magic != 0xba55ed50) return image;
    uint64_t length;
    memcpy(&length, (const char *)image + 8, sizeof length);
    const char *at = (const char *)image + 16, *end = at + length, *first = NULL;
    while (at + sizeof(struct entry) <= end) {
        struct entry e;
        memcpy(&e, at, sizeof e);
        if (!first || (e.kind == PTX_ENTRY && !e.packed)) {
            first = at + e.header;
            *size = e.payload;
        }
        if (e.kind == PTX_ENTRY && !e.packed) break;
        at += e.header + e.payload;
    }
    return first ? first : "";
}

const char *stub_ptx(const void *image) {
    uint64_t size;
    const char *part = part_of(image, &size);
    return memcmp(part, "\177ELF", 4) ? part : "";
}

unsigned stub_code(const void *image) {
    uint64_t size;
    if (!image) return 0;
    const char *part = part_of(image, &size);
    if (!memcmp(part, "\177ELF", 4)) {
        if (!size) return 0;
    } else {
        size = strlen(part);
    }
    uint32_t hash = 2166136261u;
    for (uint64_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)part[i]) * 16777619u;
    return hash;
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
            if (!strncmp(at, ".ptr", 4)) at += strcspn(at, ",)[") - 1; /* says what it points to */
            else if (!strncmp(at, ".align", 6)) align = atoi(at + 6);
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
    for (const char *at = stub_ptx(image); (at = strstr(at, ".entry ")); ) {
        at += 7;
        if (strncmp(at, kernel, length)) continue;
        const char *after = at + length;
        while (*after == ' ' || *after == '\n') after++;
        if (*after == '(') return parse(after, out);
    }
    return 0;
}

int stub_kernels(const void *image, char (*names)[128], int most) {
    int count = 0;
    for (const char *at = stub_ptx(image); (at = strstr(at, ".entry ")) && count < most; count++) {
        at += 7;
        size_t n = strcspn(at, "( \n");
        if (n > 127) n = 127;
        memcpy(names[count], at, n);
        names[count][n] = 0;
    }
    return count;
}

int stub_block(unsigned char *block, const struct signature *s, void **args, void **extra) {
    memset(block, 0, s->total);
    if (args) {
        for (int i = 0; i < s->count; i++) memcpy(block + s->offset[i], args[i], s->size[i]);
        return 1;
    }
    size_t size = 0;
    for (; extra && *extra; extra += 2) {
        if (*extra == (void *)1) memcpy(block, extra[1], s->total);
        if (*extra == (void *)2) size = *(size_t *)extra[1];
    }
    return size == s->total;
}

const char *stub_hex(char *to, size_t room, const struct signature *s, void **args, void **extra) {
    unsigned char block[1024];
    if (!s || s->total == 0 || s->total > sizeof block || s->total * 2 + 1 > room) return "";
    if (!args && !extra) return "none";
    if (!stub_block(block, s, args, extra)) return "wrong-size";
    for (unsigned i = 0; i < s->total; i++) sprintf(to + 2 * i, "%02x", block[i]);
    return to;
}
