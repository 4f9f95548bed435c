#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

int main() {
    { std::ofstream f("data.csv"); f << "name,age\nAda,36\nGrace,85\n"; }
    std::ifstream f("data.csv");
    std::string line;
    std::getline(f, line);
    int sum = 0, rows = 0;
    while (std::getline(f, line)) {
        std::istringstream in(line);
        std::string name; int age = 0;
        std::getline(in, name, ',') >> age;
        std::cout << name << ' ' << age << '\n';
        sum += age; rows++;
    }
    std::cout << sum << ' ' << rows << ' ' << f.eof() << '\n';
    std::fstream b("numbers.bin", std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary);
    for (int i = 0; i < 10; i++) b.write(reinterpret_cast<char *>(&i), sizeof i);
    int x = 0;
    b.seekg(5 * sizeof x).read(reinterpret_cast<char *>(&x), sizeof x);
    std::cout << x << ' ' << b.seekg(0, std::ios::end).tellg() << '\n';
    std::ifstream gone("gone");
    std::cout << gone.is_open() << !gone << '\n';
}
