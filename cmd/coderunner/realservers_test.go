package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/internal/conformance"
	"coderunner/internal/sample"
	"coderunner/internal/testcache"
)

// realCalls are programs that call reference servers, in each language, and what all print; the
// last has TypeScript check a program by the declarations in /tools. DIR and URL are put in.
var realCalls = []struct{ name, py, ts, sh, want string }{
	{"npm", `from tools import everything, filesystem, memory, sequential_thinking, asks
print(everything.get_structured_content(location="Chicago")["conditions"], everything.get_tiny_image()[1].mime)
filesystem.write_file(path="DIR/py.txt", content="one")
print(filesystem.read_text_file(path="DIR/py.txt")["content"])
memory.create_entities(entities=[{"name": "Ada", "entityType": "person", "observations": []}])
print(memory.search_nodes(query="Ada")["entities"][0]["name"])
print(sequential_thinking.sequentialthinking(thought="x", thoughtNumber=1, totalThoughts=2, nextThoughtNeeded=True)["totalThoughts"])
print(asks.greet())`,
		`import { asks, everything, filesystem, memory, sequential_thinking } from "tools";
console.log((await everything.get_structured_content({ location: "Chicago" })).conditions, (await everything.get_tiny_image())[1].mime);
await filesystem.write_file({ path: "DIR/ts.txt", content: "one" });
console.log((await filesystem.read_text_file({ path: "DIR/ts.txt" })).content);
await memory.create_entities({ entities: [{ name: "Ada", entityType: "person", observations: [] }] });
console.log((await memory.search_nodes({ query: "Ada" })).entities[0].name);
console.log((await sequential_thinking.sequentialthinking({ thought: "x", thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true })).totalThoughts);
console.log(await asks.greet());`,
		`echo $(tool everything get_structured_content --location Chicago | jq -r .conditions) $(tool everything get_tiny_image | jq -r '.mime? // empty' 2>/dev/null)
tool filesystem write_file --path DIR/sh.txt --content one >/dev/null; tool filesystem read_text_file --path DIR/sh.txt | jq -r .content
tool memory create_entities --entities '[{"name": "Ada", "entityType": "person", "observations": []}]' >/dev/null
tool memory search_nodes --query Ada | jq -r '.entities[0].name'
tool sequential_thinking sequentialthinking --thought x --thoughtNumber 1 --totalThoughts 2 --nextThoughtNeeded | jq .totalThoughts
tool asks greet | jq -r .`,
		"Light rain / drizzle image/png\none\nAda\n2\nHello, whoever you are!\n"},
	{"PyPI", `import re
from tools import time, git, fetch, sqlite
print(time.convert_time(source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")["time_difference"])
print(re.search("Author: Ada", git.git_log(repo_path="DIR"))[0], re.search("of the loopback", fetch.fetch(url="URL"))[0])
sqlite.create_table(query="create table py (a int)")
sqlite.write_query(query="insert into py values (7)")
print(sqlite.read_query(query="select a from py"))`,
		`import { fetch, git, sqlite, time } from "tools";
console.log((await time.convert_time({ source_timezone: "UTC", time: "12:00", target_timezone: "Asia/Tokyo" })).time_difference);
console.log((await git.git_log({ repo_path: "DIR" })).match(/Author: Ada/)[0], (await fetch.fetch({ url: "URL" })).match(/of the loopback/)[0]);
await sqlite.create_table({ query: "create table ts (a int)" });
await sqlite.write_query({ query: "insert into ts values (7)" });
console.log(await sqlite.read_query({ query: "select a from ts" }));`,
		`tool time convert_time --source_timezone UTC --time 12:00 --target_timezone Asia/Tokyo | jq -r .time_difference
echo $(tool git git_log --repo_path DIR | grep -o 'Author: Ada') $(tool fetch fetch --url URL | grep -o 'of the loopback')
tool sqlite create_table --query 'create table sh (a int)' >/dev/null
tool sqlite write_query --query 'insert into sh values (7)' >/dev/null
tool sqlite read_query --query 'select a from sh' | jq -r .`,
		"+9.0h\nAuthor: Ada of the loopback\n[{'a': 7}]\n"},
	{"types", "", `import ts from "npm:typescript@5.9.3";
import fs from "node:fs";
fs.writeFileSync("use.ts", 'import { get_sum } from "/tools/everything";\nget_sum({ a: "one", b: 1 });\nget_sum({ a: 1, b: 1 });\n');
const program = ts.createProgram(["use.ts"], { noEmit: true, noLib: true, types: [] });
for (const { file, start, messageText } of ts.getPreEmitDiagnostics(program)) {
  if (file?.fileName === "use.ts") console.log(file.getLineAndCharacterOfPosition(start).line + 1, messageText);
}`, "", "2 Type 'string' is not assignable to type 'number'.\n"},
}

// TestRealServers has programs of each language call the tools of reference servers.
func TestRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches packages of npm and PyPI")
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body><article><h1>Title</h1><p>A page of the loopback.</p></article></body></html>")
	}))
	t.Cleanup(page.Close)
	asks, err := filepath.Abs("../../internal/tools/testdata/asks.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range realCalls {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "PyPI" {
				sample.Long(t) // installs its servers, whose interpreters start slowly
			}
			t.Parallel()
			dir := t.TempDir()
			var servers map[string]any
			if c.name == "PyPI" {
				servers = conformance.PythonServers(t, dir)
			} else {
				servers = conformance.Servers(t, dir, map[string]string{"asks": asks})
			}
			for language, program := range map[string]string{"python": c.py, "typescript": c.ts, "bash": c.sh} {
				if program == "" {
					continue
				}
				program = strings.NewReplacer("DIR", dir, "URL", page.URL).Replace(program)
				if got, err := runServed(t, servers, language, program); err != nil || got != c.want {
					t.Errorf("%s: %v, %q, want %q", language, err, got, c.want)
				}
			}
		})
	}
}

// runServed runs a program that may call all tools of some servers, and returns what it prints.
func runServed(t *testing.T, servers map[string]any, language, code string) (string, error) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers, "coderunner": map[string]any{"allow": []string{"*"}}})
	config := filepath.Join(t.TempDir(), "servers.json")
	if err := errors.Join(err, os.WriteFile(config, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), selfAs(t, "coderunner"), "run", "--tools", config, "--language", language, "-c", code)
	cmd.Args[0] = "coderunner"
	cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir())
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	return string(out), err
}

// TestGoServers has a program call the servers of GitHub and Grafana, which have neither
// credentials nor anybody to ask.
func TestGoServers(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: builds two servers with hundreds of packages")
	}
	for _, s := range []struct {
		module, version, command, call, want string
		args                                 []string
		env                                  map[string]string
	}{
		{"github.com/github/github-mcp-server", "v0.20.0", "github-mcp-server", "get_me()", "failed: failed to get user", []string{"stdio"},
			map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "none-at-all", "GITHUB_HOST": "http://127.0.0.1:1"}},
		{"github.com/grafana/mcp-grafana", "v1.6.3", "mcp-grafana", `search_dashboards(query="x")`, "failed: ", nil,
			map[string]string{"GRAFANA_URL": "http://127.0.0.1:1"}},
	} {
		t.Run(s.command, func(t *testing.T) {
			bin, dir := filepath.Join(testcache.Dir(), "tools-servers", s.command+"-"+s.version), t.TempDir()
			for _, args := range [][]string{{"mod", "init", "servers"}, {"get", s.module + "@" + s.version}, {"build", "-mod=mod", "-o", bin, s.module + "/cmd/" + s.command}} {
				if exists(bin) {
					break
				}
				cmd := exec.CommandContext(t.Context(), "go", args...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
				if out, err := cmd.CombinedOutput(); strings.Contains(string(out), "This module version is not available") {
					t.Skip("the module proxy does not have it")
				} else if err != nil {
					t.Fatalf("go %q: %v: %s", args, err, out)
				}
			}
			code := "import tools\nprint(len(tools.search('list search get')))\ntry:\n    print(tools.s." + s.call + ")\nexcept tools.ToolError as e:\n    print(e)"
			servers := map[string]any{"s": map[string]any{"command": bin, "args": s.args, "env": s.env}}
			if got, err := runServed(t, servers, "python", code); err != nil || !strings.HasPrefix(got, "20\n"+s.want) {
				t.Errorf("%v, %s", err, got)
			}
		})
	}
}
