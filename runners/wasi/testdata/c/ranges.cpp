#include <algorithm>
#include <array>
#include <concepts>
#include <iostream>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

template <std::integral T> T gcd(T a, T b) { return b == 0 ? a : gcd(b, a % b); }
static int sum(std::span<const int> s) { int n = 0; for (int x : s) n += x; return n; }
struct point { int x, y; auto operator<=>(const point &) const = default; };

int main() {
    auto squares = std::views::iota(1, 20) | std::views::filter([](int x) { return x % 3 == 0; }) | std::views::transform([](int x) { return x * x; });
    for (int x : squares) std::cout << x << ' ';
    std::array a{3, 1, 2};
    std::ranges::sort(a);
    std::cout << sum(a) << a[0] << gcd(84, 36) << '\n';
    std::vector<point> points{{2, 1}, {1, 5}, {1, 2}};
    std::ranges::sort(points);
    for (auto [x, y] : points) std::cout << x << y << ' ';
    std::string_view s = "prefix.body";
    std::cout << s.starts_with("prefix") << s.substr(7) << (points[0] < points[1]) << '\n';
}
