package deno

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/runners"
)

// TestTemp has programs write to /tmp, which is the run's own.
func TestTemp(t *testing.T) {
	r := openParked(t, 1)
	for _, tt := range []struct{ name, code, want string }{
		{"files", `import { writeFileSync, createWriteStream, existsSync, mkdtempSync, readdirSync } from "node:fs";
import { readFile, mkdir, copyFile } from "fs/promises";
import { tmpdir } from "os";
import path from "path";
writeFileSync("/tmp/coderunner-a.txt", "one");
await mkdir("/tmp/d/e", { recursive: true });
await copyFile("/tmp/coderunner-a.txt", "/tmp/d/e/b.txt");
await Deno.writeTextFile("/tmp/coderunner-deno.txt", "x");
writeFileSync("b.txt", "/tmp/coderunner-a.txt");
console.log(await readFile("/tmp/d/e/b.txt", "utf8"), existsSync("/tmp/zz"), readdirSync("/tmp").sort(), Deno.readTextFileSync("b.txt"));
console.log(existsSync(path.join(tmpdir(), "coderunner-a.txt")), existsSync(path.join(process.cwd(), "b.txt")), path.basename(mkdtempSync("/tmp/app-")).slice(0, 4));
const out = createWriteStream("/tmp/s.log");
out.end("line", () => console.log(Deno.readTextFileSync("/tmp/s.log")));`, "one false [ \"coderunner-a.txt\", \"coderunner-deno.txt\", \"d\" ] /tmp/coderunner-a.txt\ntrue true app-\nline\n"},
		{"CommonJS", "const fs = require('fs');\nfs.writeFileSync('/tmp/x', '1');\nfs.rename('/tmp/x', '/tmp/y', (e) => console.log(!e, fs.readFileSync('/tmp/y', 'utf8')));", "true 1\n"},
		{"the next run", "console.log(Deno.statSync('/tmp').isDirectory, [...Deno.readDirSync('/tmp')])", "true []\n"},
		{"an error", "import fs from 'fs';\nfs.readFile('/tmp/none', (e) => console.log(e.message, e.path))", "ENOENT: no such file or directory, open '/tmp/none' /tmp/none\n"},
		{"an error of Deno", "try { await Deno.stat('/tmp/none') } catch (e) { console.log(e.message) }", "No such file or directory (os error 2): stat '/tmp/none'\n"},
		{"roads out", "import fs from 'fs';\nfor (const name of ['/tmp/../etc/passwd', '/tmp/../../../../../../etc/passwd', '/tmpx', '/etc/passwd']) try { fs.readFileSync(name); console.log(name) } catch (e) { console.log(e.code) }",
			"ENOENT\nENOENT\nENOENT\nENOENT\n"},
	} {
		o := run(t, r, runners.Request{Code: tt.code})
		if o.Stdout != tt.want {
			t.Errorf("%s: %s %+v, stdout %q, want %q", tt.name, o.Status, o.Error, o.Stdout, tt.want)
		}
	}
	for _, name := range []string{"coderunner-a.txt", "coderunner-deno.txt"} {
		if _, err := os.Lstat("/tmp/" + name); err == nil {
			t.Errorf("/tmp/%s is the host's", name)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(dir, "/tmp/") {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, "given"), []byte("of the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	granted := open(t, "--allow-read="+dir, nil)
	if o := run(t, granted, runners.Request{Code: `console.log(Deno.readTextFileSync("` + dir + `/given"))`}); o.Stdout != "of the host\n" {
		t.Errorf("%s %+v, stdout %q", o.Status, o.Error, o.Stdout)
	}
}
