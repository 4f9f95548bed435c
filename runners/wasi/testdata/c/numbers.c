#include <complex.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

int main(void) {
    printf("%d %u %lld %" PRIu64 "\n", INT_MIN, UINT_MAX, LLONG_MAX, UINT64_MAX);
    printf("%.10f %.10e %g %a\n", M_PI, exp(10), 1e100, 0.1);
    printf("%.6f %.6f %.6f %.6f\n", sin(1), sqrt(2), pow(2, 0.5), atan2(1, -1));
    printf("%f %f %d %d\n", fmod(7.5, 2), round(-2.5), isnan(NAN), isinf(1 / 0.0));
    printf("%d %d %d %u\n", -7 / 2, -7 % 2, 1 << 10, ~0u >> 28);
    double complex z = cexp(I * M_PI / 3);
    printf("%.4f %.4f\n", creal(z), cimag(z));
    unsigned long long f = 1;
    for (int i = 2; i <= 20; i++) f *= i;
    printf("%llu %d %d\n", f, __builtin_popcountll(f), __builtin_ctzll(f));
    printf("%.17g %.9g %d\n", DBL_EPSILON, FLT_MAX, (int)sizeof(long long));
    long double x = 1.0L / 3;
    printf("%.6Lf\n", x);
}
