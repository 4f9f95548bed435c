#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, TEXT, LIST };
typedef struct value {
    enum kind kind;
    union { double number; char *text; struct { struct value *items; size_t n; } list; };
} value;
struct bits { unsigned a : 3, b : 5; };

static void print(const value *v) {
    switch (v->kind) {
    case NUMBER: printf("%g", v->number); break;
    case TEXT: printf("\"%s\"", v->text); break;
    case LIST:
        putchar('[');
        for (size_t i = 0; i < v->list.n; i++) { if (i) printf(", "); print(&v->list.items[i]); }
        putchar(']');
    }
}
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define NAME(x) #x

int main(void) {
    value items[] = {{.kind = NUMBER, .number = 1.5}, {.kind = TEXT, .text = "two"}, {.kind = LIST}};
    value list = {.kind = LIST, .list = {items, 3}};
    print(&list);
    struct bits b = {.a = 9, .b = 33};
    printf("\n%u %u %zu %d %s\n", b.a, b.b, offsetof(struct { char c; int i; }, i), MAX(3, 4), NAME(hello));
    int matrix[3][4];
    for (int i = 0; i < 12; i++) matrix[i / 4][i % 4] = i * i;
    int *p = &matrix[1][0];
    printf("%d %d %td\n", p[2], *(p + 5), &matrix[2][3] - p);
    assert(list.list.n == 3);
    char copy[4];
    memcpy(copy, "abc", 4);
    memmove(copy + 1, copy, 2);
    puts(copy);
}
