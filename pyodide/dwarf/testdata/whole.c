#include "sub/part.h"
extern int out(int);
int half(const int *p, int n) {
  return part(p, n) +
         part(p, n + 1);
}
__attribute__((noinline)) int twice(const int *p) {
  return half(p, 2) + half(p, 3);
}
int main(int argc, char **argv) {
  return twice(&argc);
}
