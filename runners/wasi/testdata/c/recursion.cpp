#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

template <class T> struct Tree {
    std::unique_ptr<Tree> left, right;
    T value;
    static void add(std::unique_ptr<Tree> &t, T v) {
        if (!t) t.reset(new Tree{nullptr, nullptr, v});
        else add(v < t->value ? t->left : t->right, v);
    }
    void each(const std::function<void(const T &)> &f) const { if (left) left->each(f); f(value); if (right) right->each(f); }
    int depth() const { return 1 + std::max(left ? left->depth() : 0, right ? right->depth() : 0); }
};
static void hanoi(int n, char a, char b, char c, int &moves) { if (n) { hanoi(n - 1, a, c, b, moves); moves++; hanoi(n - 1, c, b, a, moves); } }
static int queens(int n, int row, unsigned columns, unsigned left, unsigned right) {
    if (row == n) return 1;
    int found = 0;
    for (unsigned free = ((1u << n) - 1) & ~(columns | left | right); free; free &= free - 1) {
        unsigned bit = free & -free;
        found += queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}

int main() {
    std::unique_ptr<Tree<std::string>> t;
    for (auto w : {"m", "c", "x", "a", "e", "z"}) Tree<std::string>::add(t, w);
    t->each([](auto &s) { std::cout << s; });
    int moves = 0;
    hanoi(10, 'a', 'b', 'c', moves);
    std::unordered_map<int, long> memo;
    std::function<long(int)> fib = [&](int n) { if (n < 2) return long(n); auto &m = memo[n]; if (m) return m; long v = fib(n - 1) + fib(n - 2); return memo[n] = v; };
    std::cout << ' ' << t->depth() << ' ' << moves << ' ' << queens(8, 0, 0, 0, 0) << ' ' << fib(40) << '\n';
}
