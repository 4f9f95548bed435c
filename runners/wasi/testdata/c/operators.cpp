#include <compare>
#include <iostream>
#include <numeric>
#include <set>

class Ratio {
    long n, d;
public:
    constexpr Ratio(long n, long d = 1) : n(n / std::gcd(n, d)), d(d / std::gcd(n, d)) {}
    friend Ratio operator+(Ratio a, Ratio b) { return {a.n * b.d + b.n * a.d, a.d * b.d}; }
    friend Ratio operator*(Ratio a, Ratio b) { return {a.n * b.n, a.d * b.d}; }
    Ratio &operator+=(Ratio o) { return *this = *this + o; }
    Ratio operator-() const { return {-n, d}; }
    bool operator==(const Ratio &) const = default;
    std::strong_ordering operator<=>(const Ratio &o) const { return n * o.d <=> o.n * d; }
    explicit operator double() const { return double(n) / d; }
    friend std::ostream &operator<<(std::ostream &o, Ratio r) { return o << r.n << '/' << r.d; }
};
constexpr Ratio operator""_r(unsigned long long n) { return Ratio(static_cast<long>(n)); }
struct Counter { int n = 0; Counter &operator++() { n++; return *this; } Counter operator++(int) { auto c = *this; ++*this; return c; } int operator()(int x) { return n * x; } };

int main() {
    Ratio a(6, 4), b = 2_r;
    a += Ratio(1, 3);
    std::cout << a << ' ' << -a * b << ' ' << double(b + Ratio(1, 2)) << ' ' << (a < b) << (a == b) << (a >= a) << '\n';
    for (auto r : std::set<Ratio>{{3, 4}, {1, 2}, {2, 4}, {5, 8}}) std::cout << r << ' ';
    Counter c;
    std::cout << c++.n << (++c).n << c(5) << '\n';
}
