#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(void) {
    time_t t = 1700000000;
    struct tm *tm = gmtime(&t);
    char text[64];
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %a %j", tm);
    puts(text);
    struct tm then = {.tm_year = 124, .tm_mon = 1, .tm_mday = 30, .tm_hour = 12};
    time_t made = mktime(&then);
    printf("%d-%d %d %ld\n", then.tm_mon + 1, then.tm_mday, then.tm_wday, (long)(made % 86400));
    printf("%.0f %d\n", difftime(made, made - 90), time(NULL) > t);
    clock_t begun = clock();
    printf("%d\n", begun != (clock_t)-1);
}
