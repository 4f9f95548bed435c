package wasi_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sample"
	"coderunner/pyodide/wasmbin"
	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// program is a program and how it ends.
type program struct {
	name   string
	lang   runners.Language
	code   string
	args   []string
	stdin  string
	files  map[string]string
	limits runners.Limits

	status  runners.Status // "": succeeded
	exit    int
	stdout  string
	stderr  string // a part
	kind    string // of the error
	message string // a part
	line    int
	result  string
}

var programs = []program{
	{name: "hello", lang: runners.QuickJS, code: "console.log('hi', [1, 'a'], new Map([[1, {a: 2}]]));\n1 + 1",
		stdout: "hi [ 1, \"a\" ] Map(1) { 1 => { a: 2 } }\n", result: "2"},
	{name: "await, timers, input", lang: runners.QuickJS, args: []string{"x"}, stdin: "line\nrest", code: `
const line = std.in.getline();
setTimeout(() => console.log("second"), 20);
setTimeout(() => console.log("first"), 1);
console.log(await Promise.resolve(line), std.in.readAsString(), scriptArgs.slice(1));`,
		stdout: "line rest [ \"x\" ]\nfirst\nsecond\n"},
	{name: "modules and files", lang: runners.QuickJS, files: map[string]string{"lib.mjs": "export const twice = (x) => 2 * x;"}, code: `
import * as std from "std"; import { readdir } from "os"; import { twice } from "./lib.mjs";
std.writeFile("out.txt", "kept"); console.log(twice(21), std.loadFile("out.txt"), std.loadFile("gone"), readdir(".")[0].includes("lib.mjs"));
std.exit(3);`, status: runners.Failed, exit: 3, stdout: "42 kept null true\n"},
	{name: "exception", lang: runners.QuickJS, code: "function f() {\n  throw new RangeError('bad');\n}\nf();",
		status: runners.Failed, exit: 1, kind: "RangeError", message: "bad", line: 2, stderr: "RangeError: bad\n    at f (main.js:2:"},
	{name: "takes what tells of failures", lang: runners.QuickJS, code: "for (const n of ['String', 'Error', 'Array', 'Object', 'JSON']) globalThis[n] = () => { throw 'again' };\nthrow 1", status: runners.Failed, exit: 1, kind: "Error"},
	{name: "rejection", lang: runners.QuickJS, code: "Promise.reject(new TypeError('nobody'))", status: runners.Failed, exit: 1, kind: "TypeError", message: "nobody"},
	{name: "syntax", lang: runners.QuickJS, code: "let x = 1;\nx = = 2;", status: runners.Failed, exit: 1, kind: "SyntaxError", line: 2},
	{name: "recursion", lang: runners.QuickJS, code: "(function f() { f(); })()", status: runners.Failed, exit: 1, kind: "RangeError"},
	{name: "endless", lang: runners.QuickJS, code: "for (;;);", limits: runners.Limits{Timeout: time.Second}, status: runners.TimedOut, exit: 137},
	{name: "waits for ever", lang: runners.QuickJS, code: "os.sleep(1e9)", limits: runners.Limits{Timeout: time.Second}, status: runners.TimedOut, exit: 137},
	{name: "never comes", lang: runners.QuickJS, code: "await new Promise(() => {})", status: runners.Failed, exit: 1, message: "never"},
	{name: "memory", lang: runners.QuickJS, code: "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1));", limits: runners.Limits{Memory: 64 << 20}, status: runners.Failed, exit: 1, message: "memory"},
	{name: "flood", lang: runners.QuickJS, code: "for (;;) print('x'.repeat(1000))", limits: runners.Limits{Output: 1000}, status: runners.OutputLimit, exit: 137},
	{name: "forged descriptors", lang: runners.QuickJS, code: "std.loadFile('/proc/1/environ') ?? std.loadFile('/etc/shadow') ?? 'nothing'", result: `"nothing"`},

	{name: "rows", lang: runners.SQL, code: "create table t(a, b);\ninsert into t values (1, 'x'), (2, null);\nselect * from t;", stdout: "1|x\n2|\n", result: `[{"a": 1, "b": "x"}, {"a": 2, "b": null}]`},
	{name: "bad column", lang: runners.SQL, code: "select 1;\nselect a from absent;", status: runners.Failed, exit: 1, stdout: "1\n", kind: "ParseError", message: "no such table", line: 2, result: `[{"1": 1}]`},

	{name: "hello", lang: runners.Ruby, args: []string{"a", "-b"}, stdin: "in\n", code: `require "json"; require "set"
at_exit { puts "bye" }
puts "#{ARGV} #{Dir.pwd} #{$0 == __FILE__} #{$stdin.gets.chomp.upcase}", JSON.generate({a: [1, nil]}), "caaat".gsub(/a+/, "b"), DATA.read
File.write("out.txt", "kept"); puts File.read("out.txt")
system("echo on")
[1, "x"]
__END__
data`, stdout: "[\"a\", \"-b\"] /home/user true IN\n{\"a\":[1,null]}\ncbt\ndata\nkept\non\nbye\n", result: `[1, "x"]`},
	{name: "exception", lang: runners.Ruby, code: "def f(x)\n  raise ArgumentError, \"bad #{x}\"\nend\nf(3)", status: runners.Failed, exit: 1, kind: "ArgumentError", message: "bad 3", line: 2,
		stderr: "main.rb:2:in 'Object#f': bad 3 (ArgumentError)\n\tfrom main.rb:4:in '<main>'\n"},
	{name: "gem", lang: runners.Ruby, code: "require 'csv'", status: runners.Failed, exit: 1, kind: "LoadError", message: "csv"},
	{name: "exit", lang: runners.Ruby, code: "exit 3", status: runners.Failed, exit: 3},
	{name: "endless", lang: runners.Ruby, code: "loop {}", limits: runners.Limits{Timeout: 2 * time.Second}, status: runners.TimedOut, exit: 137},
	{name: "fork", lang: runners.Ruby, code: "fork", status: runners.Failed, exit: 1, kind: "NotImplementedError"},

	{name: "hello", lang: runners.Perl, args: []string{"a", "-b"}, stdin: "in\nmore\n", code: `use strict; use warnings;
use Cwd; use List::Util qw(sum); use POSIX qw(floor strftime INT_MAX); use JSON::PP; use Storable qw(dclone); use Encode;
END { print "end\n" }
print "@ARGV $0 ", getcwd(), " ", uc <STDIN>; print "in $_" while <STDIN>;
print sum(1 .. 4), floor(-2.5), INT_MAX, strftime(" %Y-%m-%d\n", gmtime 86400), JSON::PP->new->canonical->encode({a => [1, undef]}), "\n";
open my $f, ">", "out.txt" or die; print $f "kept\n"; close $f; open $f, "<", "out.txt" or die; print <$f>;
print dclone({a => [1, {b => 3}]})->{a}[1]{b}, " caaat" =~ s/a+/b/r, "\n"; binmode STDOUT, ":encoding(UTF-8)"; print "\x{e9}\n";
package Thing { sub new { bless {} } sub DESTROY { print "gone\n" } } my $thing = Thing->new;`,
		stdout: "a -b main.pl /home/user IN\nin more\n10-32147483647 1970-01-02\n{\"a\":[1,null]}\nkept\n3 cbt\né\ngone\nend\n"},
	{name: "exception", lang: runners.Perl, code: "use strict;\nsub f { die \"bad $_[0]\" }\neval { f(1) }; print $@;\nf(3);", status: runners.Failed, exit: 255, kind: "Died", message: "bad 3", line: 2,
		stdout: "bad 1 at main.pl line 2.\n", stderr: "bad 3 at main.pl line 2.\n"},
	{name: "object", lang: runners.Perl, code: "die bless {}, 'My::Error'", status: runners.Failed, exit: 255, kind: "My::Error"},
	{name: "syntax", lang: runners.Perl, code: "my $x = 1;\nmy $y = ;", status: runners.Failed, exit: 1, kind: "SyntaxError", message: "syntax error", line: 2},
	{name: "exit", lang: runners.Perl, code: "END { print 'end' } exit 3", status: runners.Failed, exit: 3, stdout: "end"},
	{name: "endless", lang: runners.Perl, code: "1 while 1", limits: runners.Limits{Timeout: time.Second}, status: runners.TimedOut, exit: 137},
	{name: "memory", lang: runners.Perl, code: "my @a; push @a, 'x' x 1e6 while 1", limits: runners.Limits{Memory: 128 << 20}, status: runners.OutOfMemory, exit: 137},
	{name: "recursion", lang: runners.Perl, code: "sub f { f() } f()", limits: runners.Limits{Memory: 128 << 20}, status: runners.OutOfMemory, exit: 137},
	{name: "directories", lang: runners.Perl, code: "use File::Path qw(make_path remove_tree); use Cwd; make_path('a/b/c'); open my $f, '>', 'a/x'; close $f; chmod 0600, 'a/x'; print `stat -c %a a/x`; chdir 'a/b'; chdir '../..'; print getcwd(), ' ', remove_tree('a'), -e 'a' ? ' there' : ' gone', chmod(0644, 'a'), chdir('a') ? 1 : 0",
		stdout: "600\n/home/user 4 gone00"},
	{name: "processes", lang: runners.Perl, code: "eval { fork }; print $@; eval { syscall 1 }; print $@; print `echo on`; die",
		stdout: "fork starts a process that runs beside this one, which Perl in WebAssembly cannot; system and backticks wait for one at main.pl line 1.\n" +
			"The syscall function is unimplemented at main.pl line 1.\non\n", status: runners.Failed, exit: 255, kind: "Died", line: 1},

	{name: "hello", lang: runners.PHP, args: []string{"a", "-b"}, stdin: "in\nmore", code: `<?php
echo implode(" ", $argv), " ", getcwd(), " ", trim(fgets(STDIN)), " ", stream_get_contents(STDIN), file_get_contents("php://stdin"), "\n";
echo json_encode(["a" => 1.5]), preg_replace("/a+/", "b", "caaat"), "\n"; fwrite(STDERR, "err\n");
file_put_contents("out.txt", "kept"); echo file_get_contents("out.txt"), "\n";`,
		stdout: "main.php a -b /home/user in more\n{\"a\":1.5}cbt\nkept\n", stderr: "err\n"},
	{name: "exception", lang: runners.PHP, code: "<?php\nfunction f($x) { throw new RuntimeException(\"bad $x\"); }\nf(3);", status: runners.Failed, exit: 255, kind: "RuntimeException", message: "bad 3", line: 2,
		stdout: "\nFatal error: Uncaught RuntimeException: bad 3 in /home/user/main.php:2\nStack trace:\n#0 /home/user/main.php(3): f(3)\n#1 {main}\n  thrown in /home/user/main.php on line 2\n"},
	{name: "syntax", lang: runners.PHP, code: "<?php\n$x = ;", status: runners.Failed, exit: 255, kind: "ParseError", line: 2, stdout: "\nParse error: syntax error, unexpected token \";\" in /home/user/main.php on line 2\n"},
	{name: "fatal", lang: runners.PHP, code: "<?php\nregister_shutdown_function(fn() => print('end'));\nset_exception_handler(fn($e) => exit(3));\neval('function f() {} function f() {}');", status: runners.Failed, exit: 255, kind: "FatalError", message: "Cannot redeclare f()", line: 1,
		stdout: "\nFatal error: Cannot redeclare f() (previously declared in /home/user/main.php(4) : eval()'d code:1) in /home/user/main.php(4) : eval()'d code on line 1\nend"},
	{name: "ends", lang: runners.PHP, code: "#!/usr/bin/php\n<?php declare(strict_types=1);\nset_exception_handler(fn($e) => print(__LINE__ . get_class($e)));\nregister_shutdown_function(function () { echo 1; register_shutdown_function(function () { echo 2; exit(4); }); });\n$o = new class { function __destruct() { echo 'gone'; } };\nob_start(); echo 'buffered'; throw new LogicException();", status: runners.Failed, exit: 4, stdout: "buffered3LogicException12gone"},
	{name: "settings", lang: runners.PHP, code: "<?php ini_set('memory_limit', '-1'); $a = []; while (true) $a[] = str_repeat('x', 1 << 20);", status: runners.OutOfMemory, exit: 137},
	{name: "endless", lang: runners.PHP, code: "<?php set_time_limit(0); while (true);", limits: runners.Limits{Timeout: time.Second}, status: runners.TimedOut, exit: 137},
	{name: "elsewhere", lang: runners.PHP, code: "<?php echo @file_get_contents('phar:///etc/shadow'), @dl('x.so') ? 1 : 0, shell_exec('echo on');", stdout: "0on\n"},
}

// TestPrograms runs programs of each language. PHP's module is large, and Ruby's is enough for
// a usual run.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	rs := newRunners(t)
	for _, p := range programs {
		t.Run(string(p.lang)+" "+p.name, func(t *testing.T) {
			if p.lang == runners.PHP {
				sample.Long(t)
			}
			p.run(t, rs)
		})
	}
}

func (p *program) run(t *testing.T, rs map[runners.Language]runners.Runner) {
	req := runners.Request{Language: p.lang, Code: p.code, Args: p.args, Stdin: strings.NewReader(p.stdin), Limits: p.limits}
	for name, text := range p.files {
		req.Files = append(req.Files, runners.File{Path: name, Data: []byte(text)})
	}
	o, err := rs[p.lang].Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := p.status
	if want == "" {
		want = runners.Succeeded
	}
	if o.Status != want || o.ExitCode != p.exit || o.Status != runners.OutputLimit && o.Stdout != p.stdout || !strings.Contains(o.Stderr, p.stderr) {
		t.Errorf("%s %d, it printed %q and %q", o.Status, o.ExitCode, o.Stdout, o.Stderr)
	}
	e := o.Error
	if e == nil {
		e = &runners.Error{}
	}
	if p.kind != "" && e.Type != p.kind || !strings.Contains(e.Message, p.message) || p.line != 0 && e.Line != p.line {
		t.Errorf("error %+v", e)
	}
	if result := ""; o.Result != nil {
		if result = o.Result.Text; result != p.result {
			t.Errorf("result %s", result)
		}
	} else if p.result != "" {
		t.Error("no result")
	}
}

// TestBegun has a second Ruby begin as the first has, with its own environment and chance.
func TestBegun(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	rs := newRunners(t)
	o, err := rs[runners.Bash].Run(t.Context(), runners.Request{Language: runners.Bash, Limits: runners.Limits{Memory: 1 << 30}, Code: `
for i in 1 2 3; do A=$i ruby -e 'puts "#{ENV["A"]} #{rand(1 << 62)} #{ARGV} #{Process.clock_gettime(Process::CLOCK_MONOTONIC) > 0}"' $i; done > out
cut -d' ' -f1,3- out; cut -d' ' -f2 out | sort -u | wc -l`})
	want := "1 [\"1\"] true\n2 [\"2\"] true\n3 [\"3\"] true\n3\n"
	if err != nil || o.Stdout != want {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestRandom has the numbers of two programs of QuickJS, whose generator has begun before them.
func TestRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	rs, seen := newRunners(t), map[string]bool{}
	for range 3 {
		o, err := rs[runners.QuickJS].Run(t.Context(), runners.Request{Language: runners.QuickJS, Code: "print(Math.random(), Math.random())"})
		if err != nil || o.Status != runners.Succeeded || seen[o.Stdout] {
			t.Fatalf("%+v, %v", o, err)
		}
		seen[o.Stdout] = true
	}
}

// TestCommands has the languages as commands of bash.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	rs := newRunners(t)
	o, err := rs[runners.Bash].Run(t.Context(), runners.Request{Language: runners.Bash, Code: `
echo 'print(6 * 7)' > x.js; qjs x.js | tee copy; qjs -e 'std.exit(4)'; echo $?
printf '#!/usr/bin/env qjs\nprint(scriptArgs[1])' > script; chmod +x script; ./script arg
qjs gone.js; echo $?; which qjs php perl ruby wasm; echo 'print "sum ", 1 + 2, "\n"' | perl; printf "a\nb\n" | perl -ne 'print "$.$_" if /b/'
mkfifo pipe; qjs -e 'print("on"); for (;;);' > pipe & read -r x < pipe; kill $!; wait $!; echo $x $?`})
	want := "42\n4\narg\n2\n/bin/qjs\n/bin/php\n/bin/perl\n/bin/ruby\n/bin/wasm\nsum 3\n2b\non 143\n"
	if err != nil || strings.ReplaceAll(o.Stdout, "/usr/bin/", "/bin/") != want {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestContract holds the interpreters to what all runners promise.
func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	rs := newRunners(t)
	for _, l := range []runners.Language{runners.Ruby, runners.PHP, runners.Perl, runners.QuickJS} {
		runnertest.RunWith(t, rs[l], []runners.Language{l}, runnertest.Options{Cases: true})
	}
}

// TestStarted has programs that start processes of the machine.
func TestStarted(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	rs := newRunners(t)
	for _, p := range []program{
		{lang: runners.Ruby, stdin: "typed\n", code: "Dir.mkdir 'd'; ENV['X'] = 'y'\nputs `echo $X; cat; exit 2`, $?.exitstatus, $?.success?\np system('cd d && echo in $(basename $PWD) >&2; exit 3'), system('echo', \"a  b'c\", '$X'), system('gone-command'), system('pwd', chdir: 'd')\nbegin; fork; rescue NotImplementedError => e; puts e.message; end\nexec 'exit 4'",
			stdout: "y\ntyped\n2\nfalse\na  b'c $X\n/home/user/d\nfalse\ntrue\nnil\ntrue\nfork starts a process that runs beside this one, which Ruby in WebAssembly cannot; system and backticks wait for one\n", stderr: "in d\n", status: runners.Failed, exit: 4},
		{lang: runners.Perl, stdin: "typed\n", code: "mkdir 'd'; chdir 'd'; $ENV{X} = 'y'; print 'first '; my @l = `echo \\$X; cat; exit 2`; print @l, $? >> 8, qq(\\n);\nprint system('basename $PWD; exit 3') >> 8, qq(\\n); system 'echo', q(a  b'c), '$X'; exec 'exit 4'",
			stdout: "first y\ntyped\n2\nd\n3\na  b'c $X\n", status: runners.Failed, exit: 4},
		{lang: runners.PHP, stdin: "typed\n", code: "<?php mkdir('d'); chdir('d'); putenv('X=y'); echo `cat; echo \\$X`; $last = exec('echo 1; echo 2; exit 3', $lines, $status);\necho json_encode([$last, $lines, $status, system('basename $PWD')]), \"\\n\";\ntry { proc_open('x', [], $p); } catch (Error $e) { echo $e->getLine(), ' ', $e->getMessage(); exit(3); }",
			stdout: "typed\ny\nd\n[\"2\",[\"1\",\"2\"],3,\"d\"]\n3 proc_open() starts a process that runs beside this one, which PHP in WebAssembly cannot; shell_exec() waits for one", status: runners.Failed, exit: 3},
	} {
		t.Run(string(p.lang), func(t *testing.T) { p.run(t, rs) })
	}
	o, err := rs[runners.Bash].Run(t.Context(), runners.Request{Language: runners.Bash, Code: "ruby -e 'puts `perl -e \"print 1 + 1\"`, $stdin.class'; cat /dev/process; ruby -e 'File.write(%(/dev/process), %(x)); p File.open(%(/dev/process), %(r+)).read' 2>&1 | grep -c EINVAL"})
	if err != nil || o.Stdout != "2\nIO\n1\n" || !strings.Contains(o.Stderr, "/dev/process") {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestGuestSession has a session whose database the next call finds.
func TestGuestSession(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Pyodide")
	}
	rs := newRunners(t)
	var kept []runners.SessionFile
	for _, code := range []string{"create table t(a); insert into t values (7);", "select a from t;"} {
		o, err := rs[runners.SQL].Run(t.Context(), runners.Request{Language: runners.SQL, Code: code, Session: &runners.Session{
			Key: "key", Files: kept, Save: t.TempDir(), Leave: func(dir fs.FS, _ runners.File) (runners.Left, error) {
				b, err := fs.ReadFile(dir, "database.db")
				kept = []runners.SessionFile{{Path: "database.db", Mode: 0o644, SHA256: runners.SHA256(b), Contents: func() ([]byte, error) { return b, nil }}}
				return runners.Left{}, err
			},
		}})
		if err != nil || o.Status != runners.Succeeded || o.Continued == nil || !o.Continued.Kept {
			t.Fatalf("%+v, %v", o, err)
		}
		if code[0] == 's' && o.Stdout != "7\n" {
			t.Errorf("%q", o.Stdout)
		}
	}
}

// TestSessions has programs that go on with what others have left, each in an instance of its
// own, the last one in a process that has not begun the language yet.
func TestSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	for _, c := range []struct {
		lang  runners.Language
		steps []string // program, what it prints, and the variables that are left; none: nothing is kept
	}{
		{runners.Ruby, []string{
			"x = [1, 2]\ndef twice(n) = 2 * n\nclass Box; attr_accessor :v; end\n$b = Box.new; $b.v = 7; puts x.size", "2\n", "x Array, $b Box, twice method, Box Class",
			"x << 3\nputs twice(x.sum), $b.v, Box.new.v.inspect; raise 'no'", "12\n7\nnil\n", "x Array, $b Box, twice method, Box Class",
			"puts x.inspect, ARGV.inspect, $stdin.read.inspect\nexit 2", "[1, 2, 3]\n[]\n\"\"\n", "x Array, $b Box, twice method, Box Class",
		}},
		{runners.QuickJS, []string{
			"let x = [1, 2]; function twice(n) { return 2 * n } class Box { v = 7 } var box = new Box(); print(x.length)", "2\n", "twice function, box object",
			"x.push(3); print(twice(x[2]), box.v, new Box().v, scriptArgs.length); throw 1", "6 7 7 1\n", "twice function, box object",
			"print(x, await Promise.resolve(4))", "[ 1, 2, 3 ] 4\n", "twice function, box object",
		}},
		{runners.PHP, []string{
			"<?php $x = [1, 2]; function twice($n) { return 2 * $n; } class Box { public $v = 7; function __destruct() { echo 'gone'; } } $b = new Box; define('K', 3);\nregister_shutdown_function(function () { echo ' end'; }); ob_start(); echo count($x);", "2 end", "$x array, $b Box, twice function, Box class",
			"<?php $x[] = 3; $f = fopen('kept', 'w'); fwrite($f, 'text'); echo twice($x[2]), $b->v, K, count($argv); throw new Exception('no');", "6731\nFatal error: Uncaught Exception: no in /home/user/main.php:1\nStack trace:\n#0 {main}\n  thrown in /home/user/main.php on line 1\n", "$x array, $b Box, $f resource (closed), twice function, Box class",
			"<?php fprintf(STDOUT, '%s', json_encode([$x, stream_get_contents(STDIN)])); (function () { exit(2); })();", "[[1,2,3],\"\"]", "$x array, $b Box, $f resource (closed), twice function, Box class",
			"<?php $x = 'lost'; trigger_error('it', E_USER_ERROR);", "\nFatal error: it in /home/user/main.php on line 1\n", "",
			"<?php unset($b); function twice2() {} echo $x[2];", "gone3", "$x array, $f resource (closed), twice function, twice2 function, Box class",
		}},
	} {
		t.Run(string(c.lang), func(t *testing.T) {
			saved, before := map[string]string{}, ""
			rs := newRunners(t)
			for ; len(c.steps) > 0; c.steps = c.steps[3:] {
				if len(c.steps) == 3 {
					rs = newRunners(t)
				}
				dir := t.TempDir()
				o, err := rs[c.lang].Run(t.Context(), runners.Request{Language: c.lang, Code: c.steps[0], Session: &runners.Session{
					Key: "key", Before: before, Save: dir, Saved: func() (map[string]string, error) { return saved, nil },
					Leave: func(fs.FS, runners.File) (runners.Left, error) { return runners.Left{}, nil },
				}})
				if err != nil || o.Stdout != c.steps[1] || o.Continued == nil || o.Continued.Kept != (c.steps[2] != "") || (before != "") != (o.Continued.Origin == runners.OriginRestored) {
					t.Fatalf("%s: %+v, %+v, %v", c.steps[0], o, o.Continued, err)
				}
				var left []string
				for _, v := range o.Continued.Variables {
					left = append(left, v.Name+" "+v.Type)
				}
				if got := strings.Join(left, ", "); got != c.steps[2] {
					t.Errorf("%s: it leaves %s", c.steps[0], got)
				}
				if o.Continued.Kept {
					saved, before = map[string]string{"memory": filepath.Join(dir, "memory")}, "1"
				}
			}
		})
	}
}

// module returns a module, in base64, whose _start has a body and calls proc_exit or what an
// import names.
func module(from, name string, body ...byte) string {
	var b wasmbin.Builder
	b.ImportFunc(from, name, wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32}})
	memory := b.Define(wasmbin.KindMemory, wasmbin.SecMemory, []byte{0, 1})
	start := b.Func(wasmbin.FuncType{}, nil, body)
	b.Export("memory", wasmbin.KindMemory, memory)
	b.Export("_start", wasmbin.KindFunc, start)
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestModules has modules in base64. It needs nothing of a registry.
func TestModules(t *testing.T) {
	const wasi = "wasi_snapshot_preview1"
	rs := newRunners(t)
	for _, p := range []program{
		{name: "exit", code: module(wasi, "proc_exit", wasmbin.OpI32Const, 7, wasmbin.OpCall, 0), status: runners.Failed, exit: 7},
		{name: "success", code: module(wasi, "proc_exit")},
		{name: "trap", code: module(wasi, "proc_exit", wasmbin.OpUnreachable), status: runners.Failed, exit: 134, kind: "Trap", message: "unreachable", stderr: "main.wasm: unreachable"},
		{name: "endless", code: module(wasi, "proc_exit", wasmbin.OpLoop, 0x40, wasmbin.OpBr, 0, wasmbin.OpEnd), limits: runners.Limits{Timeout: time.Second}, status: runners.TimedOut, exit: 137},
		{name: "recursion", code: module(wasi, "proc_exit", wasmbin.OpCall, 1), status: runners.Failed, exit: 134, kind: "Trap", message: "stack overflow"},
		{name: "import", code: module("env", "system"), status: runners.Failed, exit: 126, kind: "BadModule", message: "it imports env.system, which WASI preview 1 does not have"},
		{name: "early", code: module("wasi_unstable", "proc_exit"), status: runners.Failed, exit: 126, kind: "BadModule", message: "wasi_unstable"},
		{name: "damaged", code: base64.StdEncoding.EncodeToString([]byte("\x00asm\x01\x00\x00\x00\xff")), status: runners.Failed, exit: 126, kind: "BadModule"},
		{name: "component", code: base64.StdEncoding.EncodeToString([]byte("\x00asm\x0d\x00\x01\x00")), status: runners.Failed, exit: 126, kind: "BadModule", message: "component"},
	} {
		p.lang = runners.WASM
		t.Run(p.name, func(t *testing.T) { p.run(t, rs) })
	}
	_, err := rs[runners.WASM].Run(t.Context(), runners.Request{Language: runners.WASM, Code: "print(1)"})
	if bad := (*runners.RequestError)(nil); !errors.As(err, &bad) || bad.Argument != "code" {
		t.Errorf("a program that is no module: %v", err)
	}
	o, err := rs[runners.WASM].Run(t.Context(), runners.Request{Language: runners.WASM, Code: module(wasi, "proc_exit"), Packages: []string{"x"}})
	if err != nil || o.Status != runners.NotInstalled {
		t.Errorf("with packages: %+v, %v", o, err)
	}
}
