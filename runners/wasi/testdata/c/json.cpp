#include <cctype>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

struct Value;
using Array = std::vector<Value>;
using Object = std::map<std::string, Value>;
struct Value { std::variant<std::nullptr_t, bool, double, std::string, Array, Object> v; };

struct Parser {
    const char *p;
    void space() { while (std::isspace((unsigned char)*p)) p++; }
    bool take(char c) { space(); if (*p != c) return false; p++; return true; }
    void want(char c) { if (!take(c)) throw std::runtime_error(std::string("no ") + c); }
    std::string text() { want('"'); std::string s; while (*p && *p != '"') { if (*p == '\\') p++; s += *p++; } want('"'); return s; }
    Value value() {
        space();
        if (*p == '"') return {text()};
        if (take('[')) { Array a; if (take(']')) return {a}; do a.push_back(value()); while (take(',')); want(']'); return {a}; }
        if (take('{')) { Object o; do { auto k = text(); want(':'); o[k] = value(); } while (take(',')); want('}'); return {o}; }
        if (*p == 't') { p += 4; return {true}; }
        if (*p == 'n') { p += 4; return {nullptr}; }
        char *end; double d = std::strtod(p, &end);
        if (end == p) throw std::runtime_error("no value");
        p = end; return {d};
    }
};
template <class... F> struct Each : F... { using F::operator()...; };
template <class... F> Each(F...) -> Each<F...>;

static void show(const Value &v) {
    std::visit(Each{
        [](std::nullptr_t) { std::cout << "null"; }, [](bool b) { std::cout << (b ? "true" : "false"); }, [](double d) { std::cout << d; },
        [](const std::string &s) { std::cout << '"' << s << '"'; },
        [](const Array &a) { std::cout << '['; for (auto &x : a) { show(x); std::cout << ' '; } std::cout << ']'; },
        [](const Object &o) { std::cout << '{'; for (auto &[k, x] : o) { std::cout << k << '='; show(x); std::cout << ' '; } std::cout << '}'; },
    }, v.v);
}

int main() {
    for (auto s : {R"({"b": [1, 2.5, "x\"y"], "a": {"n": null, "t": true}})", "[1, ]", "[]"}) {
        try { show(Parser{s}.value()); } catch (const std::exception &e) { std::cout << e.what(); }
        std::cout << '\n';
    }
}
