#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

int main() {
    std::vector<int> v(10);
    std::iota(v.begin(), v.end(), 1);
    std::rotate(v.begin(), v.begin() + 3, v.end());
    for (int x : v) std::cout << x << ' ';
    std::cout << '\n' << std::accumulate(v.begin(), v.end(), 0) << ' ' << *std::max_element(v.begin(), v.end()) << '\n';
    std::map<std::string, int> words;
    for (std::string w : {"b", "a", "c", "a", "b", "a"}) words[w]++;
    for (auto &[word, n] : words) std::cout << word << '=' << n << ' ';
    std::unordered_map<int, std::string> names{{1, "one"}, {2, "two"}};
    std::cout << names.at(2) << names.count(3) << '\n';
    std::priority_queue<int, std::vector<int>, std::greater<>> heap;
    for (int x : {5, 1, 4}) heap.push(x);
    while (!heap.empty()) { std::cout << heap.top(); heap.pop(); }
    std::set<char> letters{'x', 'y', 'x'};
    std::deque<int> d{1, 2};
    d.push_front(0);
    std::cout << letters.size() << d.front() << '\n';
    v.erase(std::remove_if(v.begin(), v.end(), [](int x) { return x % 2; }), v.end());
    std::sort(v.rbegin(), v.rend());
    for (int x : v) std::cout << x;
    std::cout << std::endl;
}
