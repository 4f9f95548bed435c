#include <iostream>
#include <map>
#include <optional>
#include <tuple>

static std::tuple<int, int> divide(int a, int b) { return {a / b, a % b}; }
static std::optional<int> half(int n) { return n % 2 ? std::nullopt : std::optional(n / 2); }
constexpr unsigned long long factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
static_assert(factorial(20) == 2432902008176640000ull);
enum class Day { Monday, Friday = 4, Sunday = 6 };

int main() {
    auto [q, r] = divide(17, 5);
    std::cout << q << ' ' << r << ' ' << factorial(15) << '\n';
    for (int n : {8, 7}) if (auto h = half(n); h) std::cout << n << " has half " << *h << '\n'; else std::cout << n << " has none\n";
    switch (Day d = Day::Friday; d) {
    case Day::Monday: std::cout << "work\n"; break;
    case Day::Friday: std::cout << "nearly\n"; [[fallthrough]];
    default: std::cout << static_cast<int>(d) << '\n';
    }
    std::map<std::string, int> ages{{"Ada", 36}};
    if (auto [it, fresh] = ages.try_emplace("Ada", 1); !fresh) std::cout << it->second << '\n';
    int i = 0;
    while (true) if (++i % 7 == 0 && i % 4 == 0) break; else continue;
    return i;
}
