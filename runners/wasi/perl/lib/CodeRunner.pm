# What a command line of perl begins with: use CodeRunner DIRECTORY.
package CodeRunner;

sub import { shift; chdir join ',', @_ }

sub cannot { die "$_[0] starts a process, which Perl in WebAssembly cannot; run the program from bash or Python" . sprintf " at %s line %d.\n", (caller 1)[1, 2] }

BEGIN {
    *CORE::GLOBAL::system = sub { cannot('system') };
    *CORE::GLOBAL::exec = sub { cannot('exec') };
    *CORE::GLOBAL::readpipe = sub { cannot('``') };
    *CORE::GLOBAL::fork = sub { cannot('fork') };
}

1;
