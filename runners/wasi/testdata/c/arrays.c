#include <stdio.h>
#include <string.h>

enum { N = 4 };

static void multiply(const double a[N][N], const double b[N][N], double out[N][N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            out[i][j] = 0;
            for (int k = 0; k < N; k++) out[i][j] += a[i][k] * b[k][j];
        }
}
static int sum(int n, int v[n]) { int s = 0; for (int i = 0; i < n; i++) s += v[i]; return s; }

int main(void) {
    double a[N][N], b[N][N], c[N][N];
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { a[i][j] = i + j; b[i][j] = i == j ? 2 : 0.5; }
    multiply(a, b, c);
    for (int i = 0; i < N; i++) printf("%6.2f %6.2f %6.2f %6.2f\n", c[i][0], c[i][1], c[i][2], c[i][3]);
    int v[] = {[2] = 7, [5] = 1}, n = sizeof v / sizeof *v;
    memmove(v + 1, v, (n - 1) * sizeof *v);
    printf("%d %d %d %d\n", n, sum(n, v), v[3], (int)(&v[5] - v));
}
