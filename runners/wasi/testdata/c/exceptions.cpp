#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

struct Trace {
    std::string name;
    ~Trace() { std::cout << "~" << name << ' '; }
};
class Custom : public std::runtime_error {
public:
    int code;
    Custom(int code) : std::runtime_error("custom"), code(code) {}
};
static int parse(const std::string &s) {
    Trace t{"parse " + s};
    if (s.empty()) throw std::invalid_argument("empty");
    if (s[0] == 'x') throw Custom(7);
    if (s[0] == '!') throw 42;
    return s.size();
}

int main() {
    for (std::string s : {"fine", "", "x", "!"}) {
        try {
            Trace t{"try"};
            std::cout << parse(s) << '\n';
        } catch (const Custom &e) {
            std::cout << e.what() << e.code << '\n';
        } catch (const std::exception &e) {
            std::cout << "standard: " << e.what() << '\n';
        } catch (...) {
            std::cout << "other\n";
        }
    }
    try {
        try { throw Custom(1); } catch (const std::runtime_error &e) { std::cout << "again "; throw; }
    } catch (const Custom &e) { std::cout << e.code << '\n'; }
    try { std::stoi("none"); } catch (const std::invalid_argument &) { std::cout << "no number\n"; }
    try { std::stoi("99999999999"); } catch (const std::out_of_range &) { std::cout << "too large\n"; }
    try { std::string("abc").substr(5); } catch (const std::out_of_range &) { std::cout << "too far\n"; }
    try { Custom c(1); std::runtime_error &e = c; dynamic_cast<std::bad_alloc &>(static_cast<std::exception &>(e)); } catch (const std::bad_cast &) { std::cout << "no cast\n"; }
    try { volatile size_t n = size_t(-1) / 4; delete[] new char[n]; } catch (const std::bad_alloc &) { std::cout << "no memory\n"; }
    try { std::vector<int> v(3); v.at(5) = 1; } catch (const std::out_of_range &) { std::cout << "out of range\n"; }
}
