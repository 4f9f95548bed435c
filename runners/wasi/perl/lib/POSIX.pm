# POSIX, which the build of Perl lacks, as far as programs use it.
package POSIX;
use strict;
use warnings;
use Exporter 'import';
use Time::Local ();

my %constants = (
    INT_MAX => 2147483647, INT_MIN => -2147483648, UINT_MAX => 4294967295, LONG_MAX => 9223372036854775807, LONG_MIN => -9223372036854775807 - 1,
    ULONG_MAX => 18446744073709551615, SHRT_MAX => 32767, SHRT_MIN => -32768, CHAR_BIT => 8, UCHAR_MAX => 255,
    DBL_MAX => 1.7976931348623157e308, DBL_MIN => 2.2250738585072014e-308, DBL_EPSILON => 2**-52, DBL_DIG => 15, FLT_MAX => 3.4028234663852886e38,
    FLT_EPSILON => 2**-23, RAND_MAX => 2147483647, EXIT_SUCCESS => 0, EXIT_FAILURE => 1, WNOHANG => 1, WUNTRACED => 2,
    LC_CTYPE => 0, LC_NUMERIC => 1, LC_TIME => 2, LC_COLLATE => 3, LC_MONETARY => 4, LC_MESSAGES => 5, LC_ALL => 6, BUFSIZ => 1024, EOF => -1,
    PATH_MAX => 4096, SIGINT => 2, SIGKILL => 9, SIGALRM => 14, SIGTERM => 15, M_PI => atan2(0, -1), M_E => exp(1), STDIN_FILENO => 0, STDOUT_FILENO => 1, STDERR_FILENO => 2,
);
for my $name (keys %constants) {
    no strict 'refs';
    my $value = $constants{$name};
    *$name = sub () { $value };
}

sub floor { my $i = int $_[0]; $i > $_[0] ? $i - 1 : $i }
sub ceil { my $i = int $_[0]; $i < $_[0] ? $i + 1 : $i }
sub trunc { int $_[0] }
sub round { $_[0] < 0 ? ceil($_[0] - 0.5) : floor($_[0] + 0.5) }
sub lround { round(@_) }
sub fmod { my ($x, $y) = @_; $x - $y * int($x / $y) }
sub pow { $_[0]**$_[1] }
sub fabs { abs $_[0] }
sub fmin { $_[0] < $_[1] ? $_[0] : $_[1] }
sub fmax { $_[0] > $_[1] ? $_[0] : $_[1] }
sub cbrt { $_[0] < 0 ? -((-$_[0])**(1 / 3)) : $_[0]**(1 / 3) }
sub log10 { log($_[0]) / log 10 }
sub log2 { log($_[0]) / log 2 }
sub tan { sin($_[0]) / cos $_[0] }
sub asin { atan2 $_[0], sqrt(1 - $_[0]**2) }
sub acos { atan2 sqrt(1 - $_[0]**2), $_[0] }
sub atan { atan2 $_[0], 1 }
sub sinh { (exp($_[0]) - exp -$_[0]) / 2 }
sub cosh { (exp($_[0]) + exp -$_[0]) / 2 }
sub tanh { sinh($_[0]) / cosh($_[0]) }
sub hypot { sqrt($_[0]**2 + $_[1]**2) }
sub isnan { $_[0] != $_[0] }
sub isinf { $_[0] == 9**9**9 || $_[0] == -9**9**9 }
sub modf { my $i = int $_[0]; ($_[0] - $i, $i) }
sub toupper { uc $_[0] }
sub tolower { lc $_[0] }
sub isatty { -t $_[0] }
sub getpid { $$ }
sub setlocale { 'C' }
sub _exit { exit $_[0] }
sub times { my @t = CORE::times(); (int(100 * CORE::time()), map { int(100 * $_) } @t) }
sub strtol {
    my ($text, $base) = (@_, 10);
    $text =~ s/^\s*([-+]?)//;
    my $sign = $1 eq '-' ? -1 : 1;
    $base = $text =~ /^0x/i ? 16 : $text =~ /^0/ ? 8 : 10 if !$base;
    $text =~ s/^0x//i if $base == 16;
    my $n = 0;
    while ($text =~ /^([0-9a-z])/i) {
        my $digit = index '0123456789abcdefghijklmnopqrstuvwxyz', lc $1;
        last if $digit >= $base;
        $n = $n * $base + $digit;
        substr($text, 0, 1) = '';
    }
    return wantarray ? ($sign * $n, length $text) : $sign * $n;
}
sub strtod { my ($n, $rest) = $_[0] =~ /^(\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(.*)$/s or return (0, length $_[0]); wantarray ? ($n + 0, length $rest) : $n + 0 }

# The only time zone is UTC.
sub mktime {
    my ($s, $min, $h, $d, $m, $y) = @_;
    my $months = $y * 12 + $m;
    $y = floor($months / 12);
    return Time::Local::timegm_modern(0, 0, 0, 1, $months - 12 * $y, $y + 1900) + (($d - 1) * 24 + $h) * 3600 + $min * 60 + $s;
}
sub strftime { my ($format, @t) = @_; require Time::Piece; Time::Piece::_strftime($format, mktime(@t), 0) }
sub asctime { scalar CORE::gmtime mktime(@_) }
sub ctime { asctime(CORE::gmtime $_[0]) . "\n" }

my @functions = grep { !/^_|^import$|^times$/ && defined &{"POSIX::$_"} } map { $_ } sort grep { no strict 'refs'; defined &{"POSIX::$_"} } keys %POSIX::;
our @EXPORT = grep { !/^(?:round|trunc|lround|cbrt|log2|isnan|isinf|hypot|fmin|fmax|M_\w+|tolower|toupper)$/ } @functions;
our @EXPORT_OK = (@functions, '_exit', 'times');
our %EXPORT_TAGS = (
    limits_h => [grep { /_(?:MAX|MIN|BIT)$/ } @functions], float_h => [grep { /^(?:DBL|FLT)_/ } @functions], sys_wait_h => [qw(WNOHANG WUNTRACED)],
    math_h => [qw(floor ceil fmod pow fabs tan asin acos atan sinh cosh tanh log10 modf)], locale_h => [grep { /^(?:LC_\w+|setlocale)$/ } @functions],
    signal_h => [grep { /^SIG/ } @functions], time_h => [qw(mktime strftime asctime ctime)], stdlib_h => [qw(strtol strtod EXIT_SUCCESS EXIT_FAILURE RAND_MAX)],
    unistd_h => [qw(isatty getpid _exit STDIN_FILENO STDOUT_FILENO STDERR_FILENO)],
);

1;
