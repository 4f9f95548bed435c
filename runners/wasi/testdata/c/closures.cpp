#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

template <typename F, typename... Args> auto apply_twice(F f, Args... args) { return f(f(args...)); }
constexpr int square(int x) { return x * x; }

int main() {
    int base = 10;
    auto add = [base](int x) { return base + x; };
    auto count = [n = 0]() mutable { return ++n; };
    count();
    std::cout << add(5) << count() << apply_twice(add, 1) << '\n';
    std::vector<std::function<int(int)>> chain{add, square, [&](int x) { return x - base; }};
    int x = 1;
    for (auto &f : chain) std::cout << (x = f(x)) << ' ';
    std::variant<int, std::string> v = "text";
    std::cout << std::get<std::string>(v) << v.index() << '\n';
    std::optional<int> none, some = 4;
    std::cout << none.value_or(-1) << *some << none.has_value() << '\n';
    auto [a, b, c] = std::make_tuple(1, 2.5, 'c');
    std::cout << a << b << c << '\n';
    static_assert(square(4) == 16);
    std::function<int(int)> fact = [&](int n) { return n < 2 ? 1 : n * fact(n - 1); };
    std::cout << fact(10) << '\n';
}
