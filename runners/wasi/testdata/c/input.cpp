#include <iostream>
#include <string>

int main(int argc, char **argv) {
    int a, b;
    std::string word, line;
    std::cin >> a >> b >> word >> std::ws;
    std::cout << a * b << ' ' << word << '\n';
    for (int n = 1; std::getline(std::cin, line); n++) std::cout << n << ": " << line << '\n';
    int x = 5;
    std::cout << std::boolalpha << std::cin.eof() << ' ' << bool(std::cin >> x) << '\n';
    for (int i = 1; i < argc; i++) std::cout << argv[i] << (i + 1 < argc ? ' ' : '\n');
    std::cerr << "not here\n";
    return argc;
}
