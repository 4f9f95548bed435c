#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

struct flags { unsigned a : 3, b : 5; int c : 4; };
union number { float f; uint32_t u; };

static uint32_t crc(const char *s) {
    uint32_t c = ~0u;
    while (*s) {
        c ^= (unsigned char)*s++;
        for (int i = 0; i < 8; i++) c = c >> 1 ^ (0xedb88320 & -(c & 1));
    }
    return ~c;
}

int main(void) {
    struct flags f = {9, 33, -3};
    union number n = {.f = -1.5f};
    printf("%u %u %d %08" PRIx32 " %08" PRIx32 "\n", f.a, f.b, f.c, n.u, crc("123456789"));
    uint64_t x = 0x0123456789abcdef;
    printf("%d %d %d %016" PRIx64 "\n", __builtin_popcountll(x), __builtin_clzll(x), __builtin_ctz(96), x << 13 | x >> 51);
    printf("%d %u %d %" PRId64 "\n", INT_MAX, UINT_MAX, (int8_t)200, (int64_t)INT64_MIN);
    printf("%d %d %d\n", -7 / 2, -7 % 2, -7 >> 1);
}
