#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *reverse(const char *s) {
    size_t n = strlen(s);
    char *r = malloc(n + 1);
    for (size_t i = 0; i < n; i++) r[i] = s[n - 1 - i];
    r[n] = 0;
    return r;
}

int main(void) {
    char text[] = "the quick brown fox, jumps; over the lazy dog";
    char *r = reverse(text);
    printf("%s|%10.5s|%-8s|\n", r, r, "left");
    free(r);
    for (char *w = strtok(text, " ,;"); w; w = strtok(NULL, " ,;")) {
        w[0] = toupper((unsigned char)w[0]);
        printf("%s(%zu) ", w, strlen(w));
    }
    printf("\n%d %d %s %s\n", strcmp("a", "b") < 0, strncmp("abc", "abd", 2), strstr("haystack", "st"), strchr("a=b", '='));
    char buf[8];
    int n = snprintf(buf, sizeof buf, "%05.2f and more", 3.14159);
    printf("%d %s %ld %.3f %lx\n", n, buf, strtol("-42x", NULL, 10), strtod("2.5e3", NULL), strtoul("ff", NULL, 16));
}
