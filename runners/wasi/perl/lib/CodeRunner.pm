# What a command line of perl begins with: use CodeRunner DIRECTORY.
package CodeRunner;

my $dir;
sub import { shift; $dir = join ',', @_; chdir $dir }

# Runs a command of the shell, sets $? and returns what it printed, with the mode "o".
sub start {
    my ($mode, @words) = @_;
    my $command = @words == 1 ? $words[0] : join ' ', map { my $w = $_; $w =~ s/'/'\\''/g; "'$w'" } @words;
    my $old = select STDOUT; # whose output comes first
    my $was = $|;
    $| = 1;
    $| = $was;
    select $old;
    my $at = eval { require Cwd; Cwd::getcwd() } || $dir;
    open my $f, '+<', '/dev/process' or do { $? = -1; return };
    syswrite $f, join "\0", $mode, $at, $command, map { "$_=$ENV{$_}" } keys %ENV;
    my ($answer, $part) = '';
    $answer .= $part while sysread $f, $part, 65536;
    close $f;
    if ($answer !~ s/^(\d+)\n//) { $? = -1; return }
    $? = $1 > 128 ? $1 - 128 : $1 << 8;
    return $answer;
}

BEGIN {
    *CORE::GLOBAL::system = sub { start('s', @_); $? };
    *CORE::GLOBAL::exec = sub { start('s', @_); CORE::exit($? & 127 ? 128 + $? : $? >> 8) };
    *CORE::GLOBAL::readpipe = sub {
        my $text = start('o', @_ ? $_[0] : $_);
        return $text unless wantarray;
        return split /(?<=\n)/, $text;
    };
    *CORE::GLOBAL::fork = sub { die "fork starts a process that runs beside this one, which Perl in WebAssembly cannot; system and backticks wait for one" . sprintf " at %s line %d.\n", (caller)[1, 2] };
}

1;
