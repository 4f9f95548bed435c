//go:build linux

package hostile

import (
	"slices"
	"testing"

	"coderunner/internal/sample"
	"coderunner/internal/testcache"
)

// TestGuests has hostile programs of the languages in WebAssembly. After each, its language
// still works, nothing is left, and no secret has got out.
//
// Rows 3, 4, 11, 14, 19, 28, 33: ends, memory, recursion, forged output, files and network.
func TestGuests(t *testing.T) {
	needsServer(t)
	s := start(t, settings{cache: testcache.Dir()})            // the languages stay compiled for other tests
	bounded := slices.Concat(anyEnd, []string{"output_limit"}) // by time, memory, processes or output
	hidden := expect{status: anyEnd, not: canary}
	for _, c := range []struct {
		name, lang, code string
		timeout          float64
		expect
	}{
		{"loop", "ruby", "loop {}", 1, expect{status: timedOut}},
		{"rescues all", "ruby", "begin; loop {}; rescue Exception; retry; ensure; loop {}; end", 1, expect{status: timedOut}},
		{"recursion", "ruby", "def f(n) = f(n + 1) + 1\nf(0)", 20, expect{status: []string{"failed"}}},
		{"memory", "ruby", "a = []; loop { a << 'x' * 10_000_000 }", 30, expect{status: []string{"failed", "out_of_memory"}}},
		{"object space", "ruby", "ObjectSpace.each_object(Module) { |m| m.send(:remove_const, :CodeRunner) rescue 0 }; ObjectSpace.each_object(String) { |s| s.replace('') rescue 0 }; puts 1", 20, expect{status: anyEnd}},
		{"forged answer", "ruby", `puts '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'; $stdout.flush; STDERR.puts "\r\n\r\n{}"`, 20, expect{status: succeeded, has: "jsonrpc"}},
		{"fork", "ruby", "begin; loop { fork { loop {} } }; rescue NotImplementedError => e; puts 'no fork'; end; Process.kill(:KILL, Process.ppid) rescue 0", 20, expect{status: bounded}},
		{"files", "ruby", "puts (File.read('SECRETFILE') rescue 0), Dir.glob('/**/secret*'), `cat SECRETFILE /proc/1/environ`; system('cat', 'SECRETFILE'); require 'socket' rescue p $!", 20, hidden},
		{"starts itself", "ruby", "p system('ruby', $0)", 20, expect{status: bounded}},
		{"starter", "ruby", `File.open("/dev/process", "r+") { |f| 3.times { f.write("o\0/\0" + "x" * 900_000) } } rescue p $!.class
["", "o", "o\0\0", "o\0x\0ls", "o\0/\0\0\0\0", "\xff\0/\0ls\0=\0=="].each { |s| File.open("/dev/process", "r+b") { |f| f.sync = true; f.write(s); p f.read.size } rescue p $!.class }`, 20, expect{status: succeeded}},
		{"loop", "perl", "local $SIG{ALRM} = sub {}; eval { 1 while 1 } while 1", 1, expect{status: timedOut}},
		{"expression", "perl", "('a' x 40) =~ /^(?:a+)+$.b/ for 1 .. 1e9; while (1) {}", 1, expect{status: timedOut}},
		{"recursion", "perl", "no warnings; sub f { f($_[0] + 1) + 1 } f(0)", 30, expect{status: anyEnd}},
		{"memory", "perl", "my @a; push @a, 'x' x 10_000_000 while 1", 30, expect{status: []string{"failed", "out_of_memory"}}},
		{"forged answer", "perl", `$| = 1; print qq({"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n); print STDERR "\r\n\r\n{}"`, 20, expect{status: succeeded, has: "jsonrpc"}},
		{"files", "perl", "print `cat SECRETFILE`; open my $f, '<', 'SECRETFILE' or print 'no '; print <$f>; do 'SECRETFILE'; print $@; eval { syscall 59 }; print $@; symlink 'SECRETFILE', 'l'; open $f, 'l'; print <$f>", 20, hidden},
		{"starts itself", "perl", "system 'perl', $0 for 1 .. 9; print 1", 20, expect{status: bounded}},
		{"files", "php", "<?php @ini_set('open_basedir', '/'); @ini_set('allow_url_include', '1'); @dl('SECRETFILE'); echo @file_get_contents('phar://SECRETFILE'), @file_get_contents('SECRETFILE'), `cat SECRETFILE`; @include 'SECRETFILE'; @include 'php://filter/convert.base64-encode/resource=SECRETFILE';", 20, hidden},
		{"loop", "php", "<?php set_time_limit(0); ignore_user_abort(true); register_shutdown_function(function () { while (true); }); while (true);", 1, expect{status: timedOut}},
		{"memory", "php", "<?php ini_set('memory_limit', '-1'); for ($a = [];;) $a[] = str_repeat('x', 1 << 20);", 30, expect{status: []string{"out_of_memory"}}},
		{"recursion", "php", "<?php function f($n) { return f($n + 1) + 1; } f(0);", 30, expect{status: []string{"failed", "out_of_memory"}}},
		{"forged answer", "php", `<?php echo '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'; flush(); fwrite(fopen('php://stderr', 'w'), "\r\n\r\n{}");`, 20, expect{status: succeeded, has: "jsonrpc"}},
		{"loop", "quickjs", "({ get x() { for (;;); } }).x", 1, expect{status: timedOut}},
		{"recursion", "quickjs", "const f = n => f(n + 1) + 1; f(0)", 20, expect{status: refused}},
		{"memory", "quickjs", "const a = []; for (;;) a.push(new Uint8Array(10_000_000).fill(1))", 30, expect{status: []string{"failed", "out_of_memory"}}},
		{"forged answer", "quickjs", `print('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')`, 20, expect{status: succeeded, has: "jsonrpc"}},
		{"failures", "quickjs", "String = JSON.stringify = Array.prototype.join = () => { throw 1 }; throw { get message() { throw 2 }, toString() { throw 3 } }", 20, expect{status: refused}},
		{"files", "quickjs", "print(std.loadFile('SECRETFILE')); try { await import('SECRETFILE') } catch (e) { print(e) }", 20, hidden},
		{"files", "sql", "attach 'SECRETFILE' as s; select * from s.sqlite_master; select readfile('SECRETFILE');\n.shell cat SECRETFILE\n.read SECRETFILE", 20, hidden},
		{"loop", "sql", "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n;", 1, expect{status: timedOut}},
		{"memory", "sql", "create table t as with recursive n(i) as (select 1 union all select i + 1 from n) select zeroblob(10000000) from n;", 30, expect{status: anyEnd}},
		{"files", "c", "#include_next <SECRETFILE>\n#include \"SECRETFILE\"\n__asm__(\".incbin \\\"SECRETFILE\\\"\");\nint main(void) {}", 20, expect{status: refused, not: canary}},
		{"loop", "c", "int main(void) { for (volatile int i = 0;; i++); }", 1, expect{status: timedOut}},
		{"recursion", "c", "int f(volatile int *p) { volatile int x = *p; return f(&x) + x; }\nint main(void) { int x = 1; return f(&x); }", 20, expect{status: []string{"failed"}}},
		{"memory", "c", "#include <stdlib.h>\n#include <string.h>\nchar *volatile p;\nint main(void) { while ((p = malloc(1 << 20))) memset(p, 1, 1 << 20); return 9; }", 30, expect{status: []string{"failed", "out_of_memory"}}},
		{"forged answer", "c", `#include <stdio.h>
int main(void) { puts("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}"); fputs("\r\n\r\n{}", stderr); }`, 20, expect{status: succeeded, has: "jsonrpc"}},
		{"compiler's memory", "c", "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(A(A(A(A(x)))))))))\nint v[] = { B(1,) };\nint main(void) {}", 10, expect{status: refused}},
		{"output elsewhere", "bash", "echo 'int main(void) {}' > x.c; cc x.c -o SECRETFILE; cc x.c -o /proc/self/exe; cc -fplugin=SECRETFILE x.c; echo \"$?\"", 60, expect{status: succeeded, not: canary}},
	} {
		t.Run(c.lang+" "+c.name, func(t *testing.T) {
			if c.lang == "c" || c.lang == "bash" {
				sample.Long(t) // compiling the compiler takes minutes
			}
			o, text, err := s.run(arguments{Language: c.lang, Code: expand(c.code), Timeout: c.timeout})
			if err != nil {
				t.Fatalf("%v\n%s", err, clip(s.logs(), 3000))
			}
			for _, w := range c.judge(o, text) {
				t.Error(w)
			}
			hello := map[string]string{"ruby": "puts 6 * 7", "perl": "print 6 * 7", "php": "<?php echo 6 * 7;", "quickjs": "print(6 * 7)", "sql": "select 6 * 7;"}[c.lang]
			if o, text, err = s.run(arguments{Language: c.lang, Code: hello, Timeout: 60}); hello != "" && (err != nil || o.Stdout != "42" && o.Stdout != "42\n") {
				t.Errorf("afterwards: %s, %v", text, err)
			}
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range append(s.leaked, s.junk...) {
		t.Error("it got out: " + l)
	}
}
