//go:build linux

package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMadeUpNames has a program without network ask its index for names that it
// makes up, by every way to install or import something.
//
// Row 35.
func TestMadeUpNames(t *testing.T) {
	needsServer(t)
	t.Parallel()
	r := newRegistry(t)
	s := start(t, settings{env: r.env(), cache: ownCache(t)})
	code := fmt.Sprintf(`
import importlib, micropip
secret, url = b"c0ffee".hex(), %q
async def install(what, **more):
    try: await micropip.install(what, **more); print("installed", what)
    except BaseException as e: print(type(e).__name__)
await install("zzleak" + secret)
await install(["zzlist" + secret, "zzother" + secret])
await install("zz[" + secret + "]==1+" + secret)
await install("zzurl @ " + url + "/" + secret + "-1-py3-none-any.whl")
await install(url + "/" + secret + "-1-py3-none-any.whl")
await install("zzindex" + secret, index_urls=url + "/" + secret + "/")
for f in (lambda: micropip.set_index_urls(url + "/" + secret), lambda: importlib.import_module("zzmod" + secret),
          lambda: __import__("zzmod" + secret + ".x"), lambda: exec("import zzexec" + secret), lambda: compile("import zz" + secret, "f", "exec")):
    try: f()
    except BaseException as e: print(type(e).__name__)
open("zzwritten.py", "w").write("import zzfile" + secret)
try: import zzwritten
except ImportError: pass
open("requirements.txt", "w").write("zzlisted" + secret)
await install("-r requirements.txt")
"done"`, r.server.URL)
	o, text, err := s.run(arguments{Language: python, Code: code, Timeout: 30})
	if err != nil || o.text() != "'done'" || strings.Contains(o.Stdout, "installed") {
		t.Errorf("%v %s", err, text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range r.asked {
		if strings.Contains(path, "633066666565") {
			t.Errorf("the index was asked for %s", path)
		}
	}
}

// TestHiddenArguments looks for what a program was given among what every user
// of the machine may see of a process.
//
// Row 32.
func TestHiddenArguments(t *testing.T) {
	needsServer(t)
	t.Parallel()
	s := start(t, settings{env: []string{"CODE_RUNNER_MEMORY=1GiB"}})
	for name, code := range map[string]string{
		"plain":    "",
		"packages": "import { z } from 'npm:zod@3'; z.string();",
		"worker":   "import 'node:fs'; new Worker('data:text/javascript,', { type: 'module' });",
	} {
		a := arguments{Language: javascript, Timeout: 60, Args: []string{"--" + canary}, Stdin: canary + "-stdin",
			Code: code + "\nif (Deno.args[0].length < 5) throw 1; Deno.writeTextFileSync('begun-" + name + "', ''); await new Promise(() => setInterval(() => {}, 1000))"}
		id, _, err := s.send("tools/call", callOf(a))
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); !slices.ContainsFunc(tree(s.temp, nil), func(file string) bool { return filepath.Base(file) == "begun-"+name }); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the program does not begin\n%s", name, s.logs())
			}
		}
		children, err := descendants(s.pid())
		if err != nil || len(children) == 0 {
			t.Fatalf("%s: %q, %v", name, children, err)
		}
		for _, child := range children {
			pid, _, _ := strings.Cut(child, " ")
			line, err := os.ReadFile("/proc/" + pid + "/cmdline")
			if err == nil && strings.Contains(string(line), canary) {
				t.Errorf("%s: the arguments are in the command line of %s", name, child)
			}
		}
		if err := s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.probe(javascript); err != nil {
		t.Error(err)
	}
}
