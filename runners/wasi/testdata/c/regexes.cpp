#include <iostream>
#include <regex>
#include <string>

int main() {
    std::string text = "Ada 1815, Grace 1906, Alan 1912";
    std::regex entry(R"((\w+) (\d{4}))");
    for (std::sregex_iterator i(text.begin(), text.end(), entry), end; i != end; ++i) std::cout << (*i)[1] << '-' << (*i)[2] << ' ';
    std::cout << '\n' << std::regex_replace(text, std::regex("A(\\w+)"), "<$1>") << '\n';
    std::cout << std::regex_match("2024-02-30", std::regex("\\d+-\\d+-\\d+")) << '\n';
}
