#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

struct Person { std::string name; int age; };

int main() {
    std::vector<Person> people{{"Ada", 36}, {"Grace", 85}, {"Linus", 21}, {"Ken", 36}};
    std::stable_sort(people.begin(), people.end(), [](auto &a, auto &b) { return a.age < b.age; });
    for (auto &p : people) std::cout << p.name << ' ';
    auto at = std::partition_point(people.begin(), people.end(), [](auto &p) { return p.age < 30; });
    std::cout << at->name << '\n';
    std::mt19937 random(42);
    std::vector<unsigned> v(8);
    std::generate(v.begin(), v.end(), [&] { return random() % 100; });
    std::copy(v.begin(), v.end(), std::ostream_iterator<unsigned>(std::cout, " "));
    std::nth_element(v.begin(), v.begin() + 4, v.end());
    std::cout << v[4] << ' ' << std::count_if(v.begin(), v.end(), [](auto x) { return x > 50; }) << '\n';
    std::string s = "abc";
    do std::cout << s << ' '; while (std::next_permutation(s.begin(), s.end()));
    std::vector<int> a{1, 2, 3, 5}, b{2, 3, 4}, both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    std::cout << both.size() << ' ' << std::inner_product(b.begin(), b.end(), a.begin(), 0) << ' ' << std::lower_bound(a.begin(), a.end(), 4) - a.begin() << '\n';
}
