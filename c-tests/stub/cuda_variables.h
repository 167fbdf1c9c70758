/* Variables of images: with STUB_MEMORY each has storage in each context of its module, and a launch's line
   shows the values of its image's variables (variables=). Part of cuda.c.

   Freed variables hold 0xdd, which shows uses of old addresses. */

struct variable { char name[64]; const struct module *module; const int *context; char *at; size_t size; };
static struct variable variables[MOST];
static atomic_int variable_count;

/* A declaration at module level, such as `.visible .const .align 4 .u32 name[3] = {1, 2};`. */
struct declared { char name[64]; unsigned element; size_t size; const char *values; };

/* Finds the next one after `at`; returns its end, or null. */
static const char *next_declared(const char *at, struct declared *out) {
    for (;; at++) {
        const char *global = strstr(at, ".global "), *constant = strstr(at, ".const ");
        at = !global || (constant && constant < global) ? constant : global;
        if (!at) return NULL;
        const char *begin = at, *end = strpbrk(at, ";={");
        while (begin > at - 9 && begin[-1] != '\n' && begin[-1] != ';') begin--;
        if (!end || (strncmp(begin, ".visible", 8) && begin != at)) continue;
        memset(out, 0, sizeof *out);
        at += strcspn(at, " ");
        size_t elements = 1;
        while ((at += strspn(at, " ")) < end) {
            size_t word = 1 + strcspn(at + 1, " [;=");
            if (!strncmp(at, ".align ", 7)) word = 7 + strcspn(at + 7, " ");
            else if (*at == '.' && strchr("bfsu", at[1])) out->element = (unsigned)atoi(at + 2) / 8;
            else if (*at == '[') elements = (size_t)atoi(at + 1);
            else if (*at != '.' && !out->name[0]) snprintf(out->name, sizeof out->name, "%.*s", (int)word, at);
            at += word;
        }
        out->size = out->element * elements;
        out->values = *end == '=' ? end + 1 : NULL;
        return end;
    }
}

/* A variable of an image in a context, created there at its first use. */
static struct variable *variable(struct module *m, const int *context, const char *name) {
    struct declared found;
    if (m->context) context = m->context;
    for (int i = 0; i < variable_count; i++)
        if (variables[i].module == m && variables[i].context == context && !strcmp(variables[i].name, name)) return &variables[i];
    for (const char *at = stub_ptx(m->image); (at = next_declared(at, &found));) {
        if (strcmp(found.name, name)) continue;
        int number = variable_count++, memory = allocation_count++;
        if (number >= MOST || memory >= MOST) abort();
        struct variable *v = &variables[number];
        *v = (struct variable){"", m, context, calloc(1, found.size), found.size};
        snprintf(v->name, sizeof v->name, "%s", name);
        for (size_t i = 0; found.values && i < found.size; i += found.element) {
            unsigned long long value = strtoull(found.values + strspn(found.values, " {,"), (char **)&found.values, 0);
            memcpy(v->at + i, &value, found.element);
        }
        allocations[memory].size = found.size;
        allocations[memory].at = v->at;
        return v;
    }
    return NULL;
}

/* A module or a context was destroyed. Its memory stays, so that the tests can read it. */
static void forget_variables(const struct module *module, const int *context) {
    for (int i = 0; i < variable_count; i++) {
        struct variable *v = &variables[i];
        if (v->at && (v->module == module || (context && v->context == context))) {
            memset(v->at, 0xdd, v->size);
            v->module = NULL;
            v->context = NULL;
        }
    }
}

static int get_global(unsigned long long *out, size_t *size, void *m, const char *name) {
    if (!stub_memory()) return 801;
    if (!is_module(m)) return 400;
    struct variable *v = current && name ? variable(m, current, name) : NULL;
    if (!v) return current ? 500 : 201;
    if (out) *out = (uintptr_t)v->at;
    if (size) *size = v->size;
    return 0;
}
int cuModuleGetGlobal_v2(unsigned long long *out, size_t *size, void *m, const char *name) { CHECK_STATUS("failing"); LOG("name=%s", name); return get_global(out, size, m, name); }
int cuLibraryGetGlobal(unsigned long long *out, size_t *size, void *m, const char *name) { CHECK_STATUS("failing"); LOG("name=%s", name); return get_global(out, size, m, name); }

/* ` variables=NAME:VALUE,…`: the variables of a kernel's image in a context, each by its first word. The words of a
   variable cushim_bound are addresses: the line shows the values there. */
static void variables_of(const struct function *f, const int *context, char *to, size_t room) {
    struct declared found;
    size_t n = 0;
    if (!stub_memory() || !f) return;
    for (const char *at = stub_ptx(f->module->image); (at = next_declared(at, &found)) && n + 100 < room;) {
        struct variable *v = variable(f->module, context, found.name);
        int table = !strcmp(found.name, "cushim_bound");
        n += (size_t)snprintf(to + n, room - n, "%s%s", n ? "," : " variables=", found.name);
        for (size_t i = 0; i < (table ? v->size / 8 : 1) && n + 40 < room; i++) {
            unsigned word = 0;
            unsigned long long address = (uintptr_t)v->at;
            if (table) memcpy(&address, v->at + 8 * i, 8);
            if (table && allocation_of(address) < 0) n += (size_t)snprintf(to + n, room - n, ":nowhere");
            else {
                memcpy(&word, (void *)(uintptr_t)address, v->size < 4 ? v->size : 4);
                n += (size_t)snprintf(to + n, room - n, ":%x", word);
            }
        }
    }
}
