#include <stdarg.h>
#include <stdio.h>

typedef int (*op)(int, int);
static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static int mul(int a, int b) { return a * b; }

static int fold(op f, int start, int n, ...) {
    va_list list;
    va_start(list, n);
    while (n--) start = f(start, va_arg(list, int));
    va_end(list);
    return start;
}
static void each(const int *v, int n, void (*f)(int, void *), void *with) { while (n--) f(*v++, with); }
static void longest(int x, void *with) { int *most = with; if (x > *most) *most = x; }
static op pick(char c) { return c == '+' ? add : c == '-' ? sub : mul; }

int main(void) {
    const char *ops = "+-*";
    for (const char *p = ops; *p; p++) printf("%c %d\n", *p, fold(pick(*p), 10, 3, 1, 2, 3));
    int v[] = {3, 9, 4}, most = 0;
    each(v, 3, longest, &most);
    printf("%d %s\n", most, pick('-') == sub ? "same" : "other");
}
