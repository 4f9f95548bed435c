#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry { struct entry *next; int count; char word[]; } entry;
static entry *table[16];
static int words;

static void add(const char *w, size_t n) {
    unsigned h = 5381;
    for (size_t i = 0; i < n; i++) h = h * 33 + (unsigned char)w[i];
    entry **p = &table[h % 16];
    for (; *p; p = &(*p)->next) if (strlen((*p)->word) == n && !memcmp((*p)->word, w, n)) { (*p)->count++; return; }
    *p = calloc(1, sizeof **p + n + 1);
    memcpy((*p)->word, w, n);
    (*p)->count = 1;
    words++;
}
static int order(const void *a, const void *b) {
    const entry *x = *(entry *const *)a, *y = *(entry *const *)b;
    return y->count - x->count ? y->count - x->count : strcmp(x->word, y->word);
}

int main(void) {
    char text[] = "The cat and the dog and the bird: the cat sat, and the dog ran.";
    for (char *p = text; *p; p++) *p = tolower((unsigned char)*p);
    for (char *p = text; *p; ) {
        size_t n = strcspn(p, " ,.:");
        if (n) add(p, n);
        p += n + (p[n] != 0);
    }
    entry **all = malloc(words * sizeof *all), **at = all;
    for (int i = 0; i < 16; i++) for (entry *e = table[i]; e; e = e->next) *at++ = e;
    qsort(all, words, sizeof *all, order);
    for (int i = 0; i < words; i++) { printf("%s %d\n", all[i]->word, all[i]->count); free(all[i]); }
    free(all);
}
