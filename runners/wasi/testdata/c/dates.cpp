#include <chrono>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <sstream>

int main() {
    using namespace std::chrono;
    constexpr auto day = year_month_day{2024y / February / 29};
    static_assert(day.ok() && !year_month_day{2023y / February / 29}.ok());
    auto later = sys_days(day) + days(366);
    year_month_day d{later};
    std::cout << int(d.year()) << '-' << unsigned(d.month()) << '-' << unsigned(d.day()) << ' ' << weekday(later).c_encoding() << '\n';
    std::cout << (sys_days(2026y / January / 1) - sys_days(1970y / January / 1)).count() << ' ' << duration_cast<minutes>(36h + 90s).count() << '\n';
    std::time_t t = 1700000000;
    std::cout << std::put_time(std::gmtime(&t), "%Y-%m-%dT%H:%M:%SZ %A %j") << '\n';
    std::tm tm{};
    std::istringstream("2001-09-09 01:46:40") >> std::get_time(&tm, "%Y-%m-%d %H:%M:%S");
    std::cout << tm.tm_year << ' ' << tm.tm_mon << ' ' << tm.tm_hour << '\n';
    auto start = steady_clock::now();
    std::cout << (steady_clock::now() >= start) << '\n';
}
