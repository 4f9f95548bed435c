#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define kind(x) _Generic((x), int: "int", double: "double", char *: "string", default: "other")
_Static_assert(sizeof(int32_t) == 4, "int32_t");

typedef struct { char **keys; int *values; size_t cap, n; } table;

static size_t hash(const char *s) { uint32_t h = 2166136261u; while (*s) h = (h ^ (uint8_t)*s++) * 16777619u; return h; }
static int *slot(table *t, const char *key) {
    if (2 * t->n >= t->cap) {
        table old = *t;
        *t = (table){calloc(old.cap ? 2 * old.cap : 8, sizeof(char *)), calloc(old.cap ? 2 * old.cap : 8, sizeof(int)), old.cap ? 2 * old.cap : 8, 0};
        for (size_t i = 0; i < old.cap; i++) if (old.keys[i]) { *slot(t, old.keys[i]) = old.values[i]; free(old.keys[i]); }
        free(old.keys); free(old.values);
    }
    size_t i = hash(key) % t->cap;
    while (t->keys[i] && strcmp(t->keys[i], key)) i = (i + 1) % t->cap;
    if (!t->keys[i]) { t->keys[i] = strdup(key); t->n++; }
    return &t->values[i];
}

int main(void) {
    table t = {0};
    char key[16];
    for (int i = 0; i < 1000; i++) { snprintf(key, sizeof key, "key%d", i % 137); ++*slot(&t, key); }
    printf("%zu %d %d %s %s %s\n", t.n, *slot(&t, "key0"), *slot(&t, "key136"), kind(1), kind(1.0), kind(key));
    uint8_t bytes[4];
    uint32_t n = 0x01020304;
    memcpy(bytes, &n, 4);
    printf("%d %x\n", bytes[0], __builtin_bswap32(n));
}
