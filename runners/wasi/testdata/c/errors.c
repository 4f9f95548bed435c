#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void last(void) { puts("last"); fflush(stdout); }
static int parse(const char *s, long *out) {
    char *end;
    errno = 0;
    *out = strtol(s, &end, 0);
    return errno ? errno : *end || end == s ? EINVAL : 0;
}

int main(int argc, char **argv) {
    const char *list[] = {"12", "0x1f", "12x", "", "99999999999999999999"};
    for (int i = 0; i < 5; i++) {
        long n;
        int e = parse(list[i], &n);
        printf("%s: %s\n", list[i], e == EINVAL ? "invalid" : e == ERANGE ? "out of range" : e ? "?" : "good");
    }
    FILE *f = fopen("/no/such/file", "r");
    printf("%d %d %s\n", f == NULL, errno == ENOENT, strerror(ENOENT));
    printf("%d %d %d %s %s\n", isnan(sqrt(-1)), isinf(1 / 0.0), argc, argv[1], getenv("NOT_SET") ? "set" : "not set");
    atexit(last);
    exit(argc == 3 ? 7 : 1);
}
