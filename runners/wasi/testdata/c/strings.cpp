#include <algorithm>
#include <cctype>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

static std::vector<std::string_view> split(std::string_view s, char at) {
    std::vector<std::string_view> parts;
    for (size_t n; (n = s.find(at)) != s.npos; s.remove_prefix(n + 1)) parts.push_back(s.substr(0, n));
    parts.push_back(s);
    return parts;
}

int main() {
    std::string s = "the quick,brown fox";
    for (auto part : split(s, ',')) std::cout << '[' << part << "] ";
    s.replace(s.find("quick"), 5, "slow").insert(0, ">> ").append("!");
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::toupper(c); });
    std::cout << s << ' ' << s.size() << '\n' << std::string(s.rbegin(), s.rend()) << '\n';
    std::cout << std::stoi("42") + std::stod("0.5") << ' ' << std::to_string(1.5) << ' ' << ("abc" < std::string("abd")) << ' ' << s.starts_with(">>") << '\n';
    std::cout << R"(raw "text" \n)" << std::string("é").size() << '\n';
}
