package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/internal/testcache"
)

// forge has Python's half report what it likes in place of some fields.
const forge = `
import sys
frame = sys._getframe()
while "_encode" not in frame.f_globals:
    frame = frame.f_back
def forged(report, encode=frame.f_globals["_encode"]): # the globals are gone by then
    return encode({**report, **%s} if report != 1 else report)
frame.f_globals["_encode"] = forged
1`

// hostilePrograms are programs whose outcomes are hard to write in a way that
// every parser reads.
var hostilePrograms = map[string][]string{
	"python": {
		"v = []\nfor _ in range(250): v = [v]\nv",
		"v = {}\nfor _ in range(150): v = {'a': [v]}\nv",
		"v = 1\nfor _ in range(100): v = [v]\nv",
		"[10 ** 400, -(10 ** 4000)]",
		"[2 ** 63, 2 ** 64, 2 ** 1000, 1e308, 5e-324, -0.0]",
		"float('inf')", "[float('nan')]",
		"{'\\ud800': '\\udfff', 'b': '\\U0001f600'}", "'\\x00\\x1b\\u2028\\ufeff\\uffff'",
		"{1: 'a', '1': 'b'}", "{True: 1, 'true': 2}",
		"raise ValueError('\\ud800' + 'x' * 100000)",
		"class E(Exception): pass\nE.__name__ = E.__qualname__ = '\\udc80' * 5000\nraise E(E.__name__)",
		"class R:\n  def __repr__(self): return '\\ud800\\x00'\nR()",
		"import os, sys\nos.write(1, bytes(range(256)) * 300)\nsys.stderr.buffer.write(b'\\xed\\xa0\\x80')\nsys.exit('\\udcff')",
		"import sys\nsys.exit(2 ** 70)",
		"import nosuchmodule_\U0001f600", "exec('\\ud800')",
		"display({'text/html': '\\ud800\\x00'}, raw=True)\ndisplay({'application/json': '[1e999]'}, raw=True)",
		`display({"application/x\ud800+json": "{\"a\": 1}", "text/plain": "\udfff"}, raw=True)`,
		"open('\\x1b\\n\\udc80', 'w').write('\\x00'); open('a.json', 'w', errors='surrogatepass').write('[\\ud800]')",
		fmt.Sprintf(forge, `{"repr": "x", "json": "[1e999]"}`),
		fmt.Sprintf(forge, `{"repr": "\ud800", "json": r'{"a":1,"a":"\ud800"}'}`),
		fmt.Sprintf(forge, `{"repr": "x", "json": "[" * 20000 + "]" * 20000}`),
		fmt.Sprintf(forge, `{"repr": "x", "json": "01"}`),
		fmt.Sprintf(forge, `{"exit_code": 1, "type": "\ud800" + "T" * 70000, "message": "\ud800\0", "traceback": "\udfff"}`),
	},
	"javascript": {
		"let v = 1; for (let i = 0; i < 250; i++) v = [v];\nv",
		"let v = 1; for (let i = 0; i < 150; i++) v = {v: [v]};\nv",
		"[JSON.rawJSON('1e999'), JSON.rawJSON('9'.repeat(5000)), 2 ** 70, 5e-324, -0]",
		"({toJSON: () => ({'\\ud800': '\\udc00\\ud800', b: '\\u0000\\u2028\\uffff'})})",
		"({'\\ud800': 1, '\\ud801': 2})", "[NaN, Infinity, undefined]",
		"throw new TypeError('\\ud800' + 'x'.repeat(1e5))", "throw '\\udfff'",
		"const e = new Error('m'); e.name = '\\ud800'.repeat(5000); e.stack = e.name; throw e",
		"display({'application/json': '[1e999]'}, {raw: true}); display({'text/html': '\\ud800'}, {raw: true}); Deno.writeTextFileSync('\\n\\x1b', '\\ud800')",
		"JSON.stringify = () => '{'; Object.prototype.toJSON = () => '\\ud800'; [1]",
		"Deno.stdout.writeSync(new Uint8Array(70000).map((_, i) => i)); Deno.stderr.writeSync(new Uint8Array([0xed, 0xa0, 0x80])); Deno.exit(-1)",
		"import 'npm:\U0001f600'", "await import('\\ud800')",
	},
}

// hostileLines are messages whose answers could repeat what they say.
var hostileLines = []string{
	`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 900) + `,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1.5e-300,"method":"ping"}`, `{"jsonrpc":"2.0","id":"\u0000\uffff","method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"\ud800` + strings.Repeat("x", 10_000) + `"}`,
	`{"jsonrpc":"\ud800","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":{"\ud800":1}}`,
	"\xff\xfe", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"\ud800":1}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"\ud800","code":""}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"","packages":["\ud800"]}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"","files":[{"path":"\ud800/../x","text":""}]}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"1","timeout_seconds":1e999}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"import time; time.sleep(0.5)"},"_meta":{"progressToken":"\ud800"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"import time; time.sleep(0.5)"},"_meta":{"progressToken":1e-300}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"\ud800"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"\ud800","capabilities":{},"clientInfo":{"name":"\ud800","version":""}}}`,
}

// wireServer is the real binary, and keeps all that it writes.
type wireServer struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	lines []string
}

func serveWire(t *testing.T, env ...string) *wireServer {
	cache := testcache.Dir()
	cmd := exec.Command(selfAs(t, "coderunner"), "serve")
	cmd.Env = append(append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+cache), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	s := &wireServer{t: t, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	s.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	return s
}

// ask sends a line and returns the answer to it.
func (s *wireServer) ask(line string) (a answer) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("after %.200s: %v", line, err)
		}
		s.lines = append(s.lines, strings.TrimSuffix(line, "\n"))
		a = answer{line: line}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			s.t.Fatalf("Go cannot read %.300s: %v", line, err)
		}
		if a.Method == "" { // no progress
			return a
		}
	}
}

// call runs a program with the files and returns the answer.
func (s *wireServer) call(language, code string, args map[string]any) answer {
	s.t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	args["language"], args["code"] = language, code
	raw, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.ask(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"run_code","arguments":` + string(raw) + `}}`)
}

// nesting returns how deep a value is nested.
func nesting(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = max(n, nesting(e))
		}
		return n + 1
	case map[string]any:
		for _, e := range v {
			n = max(n, nesting(e))
		}
		return n + 1
	}
	return 0
}

// TestEveryLineParses sends messages and programs whose answers are hard to
// write, and has what the server wrote read by Go, by CPython's and pydantic's
// parsers and by V8's, and measured against the bounds of Rust's. With -artifacts the lines are kept for others.
func TestEveryLineParses(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	s := serveWire(t)
	for _, line := range hostileLines {
		s.ask(line)
	}
	for language, programs := range hostilePrograms {
		for _, code := range programs {
			s.call(language, code, nil)
		}
	}
	for _, line := range s.lines {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil { // also for numbers beyond a float64
			t.Errorf("Go cannot read %.300s: %v", line, err)
		}
		if d := nesting(v); d > 120 { // Rust's serde_json reads 128
			t.Errorf("%.300s is %d deep", line, d)
		}
	}
	text := strings.Join(s.lines, "\n")
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "lines"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for parser, p := range map[string]struct{ language, code string }{
		"json": {"python", `
import json
for n, line in enumerate(open("lines", encoding="utf-8", newline="\n").read().split("\n"), 1):
    line.encode(), json.dumps(json.loads(line), ensure_ascii=False, allow_nan=False).encode()
n`},
		"pydantic": {"python", `
import json, pydantic_core
for n, line in enumerate(open("lines", "rb").read().split(b"\n"), 1):
    if pydantic_core.from_json(line, allow_inf_nan=False) != json.loads(line):
        raise ValueError(line)
n`},
		"V8": {"javascript", `
let n = 0;
for (const line of new TextDecoder("utf-8", {fatal: true}).decode(Deno.readFileSync("lines")).split("\n")) {
  const again = JSON.stringify(JSON.parse(line));
  if (!again.isWellFormed() || JSON.stringify(JSON.parse(again)) !== again) throw new Error(line);
  n++;
}
n`},
	} {
		t.Run(parser, func(t *testing.T) {
			a := s.call(p.language, p.code, map[string]any{"files": []map[string]string{{"path": "lines", "text": text}}})
			got, _, _ := strings.Cut(a.Result.Content[0].Text, "\nnote: Fetched for the first time: ")
			if want := fmt.Sprintf("result: %d", strings.Count(text, "\n")+1); a.Result.IsError || got != want {
				t.Errorf("%s, want %s", a.Result.Content[0].Text, want)
			}
		})
	}
}
