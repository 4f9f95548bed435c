#include <stdio.h>

static const char *kind(int n) {
    switch (n % 5) {
    case 0: return "five";
    case 1: case 2: return "low";
    default: return "high";
    }
}

int main(void) {
    for (int i = 0; i < 7; i++) printf("%d %s%s\n", i, kind(i), i & 1 ? "" : " even");
    int n = 27, steps = 0;
    while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; steps++; }
    do steps--; while (steps > 100);
    for (int i = 2; i < 40; i++) {
        for (int j = 2; j * j <= i; j++) if (i % j == 0) goto next;
        printf("%d ", i);
    next:;
    }
    printf("\n%d\n", steps);
    return steps > 99 ? 3 : 0;
}
