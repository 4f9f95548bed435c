#include <iostream>
#include <memory>
#include <utility>
#include <vector>

struct Loud {
    int n;
    explicit Loud(int n) : n(n) { std::cout << '+' << n << ' '; }
    Loud(Loud &&o) noexcept : n(std::exchange(o.n, 0)) { std::cout << "m" << n << ' '; }
    Loud &operator=(Loud &&o) noexcept { std::swap(n, o.n); return *this; }
    ~Loud() { std::cout << '-' << n << ' '; }
};
struct Node { int value; std::shared_ptr<Node> next; std::weak_ptr<Node> back; ~Node() { std::cout << "~" << value << ' '; } };

int main() {
    {
        auto a = std::make_unique<Loud>(1);
        auto b = std::move(a);
        std::cout << (a == nullptr) << b->n << ' ';
        std::vector<Loud> v;
        v.reserve(2);
        v.push_back(Loud(3));
        v.emplace_back(4).n = 3;
    }
    std::cout << '\n';
    auto first = std::make_shared<Node>(1);
    first->next = std::make_shared<Node>(2);
    first->next->back = first;
    std::cout << first.use_count() << first->next.use_count() << first->next->back.lock()->value << '\n';
    std::weak_ptr<Node> gone = first;
    first.reset();
    std::cout << gone.expired() << '\n';
    auto close = [](FILE *f) { std::cout << "closed\n"; fclose(f); };
    std::unique_ptr<FILE, decltype(close)> f(fopen("t.txt", "w"), close);
}
