#include <array>
#include <concepts>
#include <iostream>
#include <string>
#include <type_traits>

template <typename T> concept Number = std::integral<T> || std::floating_point<T>;
template <Number T, size_t N> struct Vec {
    std::array<T, N> v;
    friend T operator*(const Vec &a, const Vec &b) { T s{}; for (size_t i = 0; i < N; i++) s += a.v[i] * b.v[i]; return s; }
};
template <typename... A> auto sum(A... a) { return (... + a); }
template <typename T> std::string kind(const T &) {
    if constexpr (std::is_pointer_v<T>) return "pointer";
    else if constexpr (Number<T>) return sizeof(T) > 4 ? "long number" : "number";
    else return "other";
}
template <int N> struct Fib { static constexpr int value = Fib<N - 1>::value + Fib<N - 2>::value; };
template <> struct Fib<0> { static constexpr int value = 0; };
template <> struct Fib<1> { static constexpr int value = 1; };

int main() {
    Vec<int, 3> a{{1, 2, 3}}, b{{4, 5, 6}};
    std::cout << a * b << ' ' << sum(1, 2.5, 3) << ' ' << sum(std::string("a"), "b", 'c') << '\n';
    int x = 1;
    std::cout << kind(x) << ", " << kind(&x) << ", " << kind(2.0) << ", " << kind(std::string()) << ' ' << Fib<30>::value << '\n';
    auto twice = []<typename T>(T t) { return t + t; };
    std::cout << twice(21) << twice(std::string("ab")) << '\n';
}
