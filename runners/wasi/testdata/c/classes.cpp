#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class Shape {
public:
    virtual ~Shape() { std::cout << "~" << name() << ' '; }
    virtual double area() const = 0;
    virtual std::string name() const { return "shape"; }
};
class Square : public Shape {
    double a;
public:
    explicit Square(double a) : a(a) {}
    double area() const override { return a * a; }
    std::string name() const override { return "square"; }
};
class Circle final : public Shape {
    double r;
public:
    explicit Circle(double r) : r(r) {}
    double area() const override { return 3 * r * r; }
};
template <typename T> class Stack {
    std::vector<T> items;
public:
    Stack &operator<<(T x) { items.push_back(std::move(x)); return *this; }
    friend std::ostream &operator<<(std::ostream &out, const Stack &s) { for (auto &x : s.items) out << '[' << x << ']'; return out; }
};
struct Counter {
    static inline int alive = 0;
    Counter() { alive++; }
    Counter(const Counter &) { alive++; }
    Counter(Counter &&) noexcept { alive++; }
    ~Counter() { alive--; }
};

int main() {
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Square>(2));
    shapes.push_back(std::make_unique<Circle>(1));
    for (auto &s : shapes) std::cout << s->name() << ' ' << s->area() << ' ' << (dynamic_cast<Square *>(s.get()) != nullptr) << '\n';
    Stack<std::string> stack;
    stack << "a" << "b";
    std::cout << stack << '\n';
    {
        Counter a, b = a, c = std::move(b);
        auto p = std::make_shared<Counter>();
        auto q = p;
        std::cout << Counter::alive << p.use_count() << '\n';
    }
    std::cout << Counter::alive << '\n';
}
