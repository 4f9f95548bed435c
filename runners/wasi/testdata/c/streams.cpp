#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

int main() {
    std::ostringstream out;
    out << std::setw(8) << std::setfill('*') << 42 << std::hex << std::showbase << 255 << std::dec << std::fixed << std::setprecision(3) << 2.0 / 3;
    std::cout << out.str() << '\n';
    std::ofstream("lines.txt") << "one 1\ntwo 2\nthree x\n";
    std::ifstream in("lines.txt");
    std::string name;
    int n;
    while (in >> name >> n) std::cout << name << n << ' ';
    std::cout << in.fail() << in.eof() << '\n';
    std::istringstream csv("a,b,,c");
    for (std::string field; std::getline(csv, field, ',');) std::cout << '<' << field << '>';
    std::string line, all;
    while (std::getline(std::cin, line)) all += line + "|";
    std::cout << '\n' << all << std::boolalpha << (all.find("second") != std::string::npos) << '\n';
    std::cout << std::left << std::setw(6) << "ab" << std::right << std::setw(6) << "cd" << std::scientific << 12345.678 << '\n';
    std::cerr << "error\n";
    return 3;
}
