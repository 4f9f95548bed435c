#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct node { int key; struct node *left, *right; } node;

static node *insert(node *n, int key) {
    if (!n) { n = calloc(1, sizeof *n); n->key = key; return n; }
    if (key < n->key) n->left = insert(n->left, key);
    else if (key > n->key) n->right = insert(n->right, key);
    return n;
}
static int depth(const node *n) {
    if (!n) return 0;
    int l = depth(n->left), r = depth(n->right);
    return 1 + (l > r ? l : r);
}
static void walk(const node *n, void (*visit)(int, void *), void *with) {
    if (n) { walk(n->left, visit, with); visit(n->key, with); walk(n->right, visit, with); }
}
static void sum(int key, void *with) { *(long *)with += key; }
static void print(int key, void *with) { printf("%s%d", *(bool *)with ? "" : " ", key); *(bool *)with = false; }
static void clear(node *n) { if (n) { clear(n->left); clear(n->right); free(n); } }

int main(void) {
    node *root = NULL;
    unsigned x = 12345;
    for (int i = 0; i < 1000; i++) { x = x * 1103515245u + 12345u; root = insert(root, (x >> 16) % 500); }
    long total = 0;
    bool first = true;
    walk(root, sum, &total);
    walk(root, print, &first);
    printf("\n%ld %d\n", total, depth(root));
    clear(root);
}
