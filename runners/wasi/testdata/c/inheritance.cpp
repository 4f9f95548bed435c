#include <iostream>
#include <memory>
#include <typeinfo>
#include <vector>

struct Shape {
    virtual double area() const = 0;
    virtual const char *name() const { return "shape"; }
    virtual ~Shape() { std::cout << "~Shape "; }
};
struct Square : Shape {
    double a;
    Square(double a) : a(a) {}
    double area() const override { return a * a; }
    const char *name() const override { return "square"; }
};
struct Circle final : Shape {
    double r;
    Circle(double r) : r(r) {}
    double area() const override { return 3 * r * r; }
};
struct A { int a = 1; virtual ~A() = default; };
struct B : virtual A { int b = 2; };
struct C : virtual A { int c = 3; };
struct D : B, C { int d = a + b + c; };

int main() {
    std::vector<std::unique_ptr<Shape>> v;
    v.push_back(std::make_unique<Square>(2));
    v.push_back(std::make_unique<Circle>(1));
    for (auto &s : v) std::cout << s->name() << ' ' << s->area() << ' ' << (dynamic_cast<Square *>(s.get()) != nullptr) << '\n';
    D d;
    A *a = &d;
    std::cout << d.d << ' ' << (dynamic_cast<C *>(a)->c) << ' ' << (typeid(*a) == typeid(D)) << '\n';
    try { (void)dynamic_cast<Circle &>(*v[0]); } catch (const std::bad_cast &) { std::cout << "bad cast\n"; }
}
