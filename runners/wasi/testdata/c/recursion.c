#include <stdio.h>
#include <stdint.h>

static int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
static void hanoi(int n, char a, char b, char c, int *moves) { if (n) { hanoi(n - 1, a, c, b, moves); ++*moves; hanoi(n - 1, c, b, a, moves); } }
static int queens(int n, int row, unsigned cols, unsigned d1, unsigned d2) {
    if (row == n) return 1;
    int count = 0;
    for (int c = 0; c < n; c++) {
        unsigned x = 1u << c, y = 1u << (row + c), z = 1u << (row - c + n);
        if (!(cols & x || d1 & y || d2 & z)) count += queens(n, row + 1, cols | x, d1 | y, d2 | z);
    }
    return count;
}

int main(void) {
    int moves = 0;
    hanoi(12, 'a', 'b', 'c', &moves);
    uint64_t fib[91] = {0, 1};
    for (int i = 2; i <= 90; i++) fib[i] = fib[i - 1] + fib[i - 2];
    printf("%d %d %d %llu\n", ackermann(2, 9), moves, queens(8, 0, 0, 0, 0), (unsigned long long)fib[90]);
}
