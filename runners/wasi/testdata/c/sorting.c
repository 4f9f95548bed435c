#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const char *name; int age; } person;

static int by_age(const void *a, const void *b) {
    const person *x = a, *y = b;
    return x->age != y->age ? x->age - y->age : strcmp(x->name, y->name);
}
static int ints(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
    person people[] = {{"Ada", 36}, {"Grace", 85}, {"Linus", 21}, {"Ken", 36}};
    qsort(people, 4, sizeof *people, by_age);
    for (int i = 0; i < 4; i++) printf("%s %d\n", people[i].name, people[i].age);
    static int v[10000];
    unsigned x = 1;
    for (int i = 0; i < 10000; i++) v[i] = (x = x * 69069 + 1) >> 12;
    qsort(v, 10000, sizeof *v, ints);
    int *found = bsearch(&v[777], v, 10000, sizeof *v, ints);
    printf("%d %d %d %d\n", v[0], v[5000], v[9999], *found == v[777]);
}
