#include <stdio.h>
#include <stdlib.h>

typedef double (*op)(double, double);
static double add(double a, double b) { return a + b; }
static double mul(double a, double b) { return a * b; }
static const struct { char sign; op f; } ops[] = {{'+', add}, {'*', mul}};

static double eval(const char **s);
static double atom(const char **s) {
    if (**s == '(') { ++*s; double v = eval(s); ++*s; return v; }
    return strtod(*s, (char **)s);
}
static double eval(const char **s) {
    double v = atom(s);
    while (**s && **s != ')') {
        char sign = *(*s)++;
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) if (ops[i].sign == sign) v = ops[i].f(v, atom(s));
    }
    return v;
}

int main(void) {
    const char *s = "1+2*(3+4)*2";
    printf("%g\n", eval(&s));
    int **rows = malloc(3 * sizeof *rows);
    for (int i = 0; i < 3; i++) { rows[i] = malloc(3 * sizeof **rows); for (int j = 0; j < 3; j++) rows[i][j] = i ^ j; }
    for (int i = 0; i < 9; i++) printf("%d%c", rows[i / 3][i % 3], i % 3 == 2 ? '\n' : ' ');
    for (int i = 0; i < 3; i++) free(rows[i]);
    free(rows);
    int x = 5, *p = &x, **q = &p;
    **q = 6;
    printf("%d %d\n", x, p == *q);
}
