#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) printf("argument %d: %s\n", i, argv[i]);
    int a, b;
    char word[20];
    if (scanf("%d %d %19s", &a, &b, word) == 3) printf("%d %s\n", a * b, word);
    int c, lines = 0, chars = 0;
    while ((c = getchar()) != EOF) { chars++; lines += c == '\n'; }
    printf("%d %d\n", lines, chars);
    fprintf(stderr, "to standard error\n");
    setenv("NAME", "value", 1);
    printf("%s %d\n", getenv("NAME"), getenv("NOT_SET") == NULL);
    exit(argc + 4);
}
