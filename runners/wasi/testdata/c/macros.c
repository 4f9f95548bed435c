#include <stdio.h>

#define TEXT(x) #x
#define VALUE(x) TEXT(x)
#define JOIN(a, b) a##b
#define MAX(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define SAY(format, ...) printf("%s: " format "\n", __func__, ##__VA_ARGS__)
#define COLOURS(X) X(RED, 0xff0000) X(GREEN, 0x00ff00) X(BLUE, 0x0000ff)
#define LIMIT 42

enum {
#define X(name, value) name = value,
    COLOURS(X)
#undef X
};
static const struct { const char *name; unsigned value; } colours[] = {
#define X(name, value) {#name, value},
    COLOURS(X)
#undef X
};

int main(void) {
    int JOIN(un, ited) = LIMIT;
    SAY("%s is %s", TEXT(LIMIT), VALUE(LIMIT));
    SAY("%d", MAX(united++, 7));
    for (unsigned i = 0; i < sizeof colours / sizeof *colours; i++) SAY("%s %06x", colours[i].name, colours[i].value);
#if defined(LIMIT) && LIMIT > 40 && !defined(NONE)
    SAY("%d %d", united, BLUE);
#else
#error "not here"
#endif
}
