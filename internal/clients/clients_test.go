package clients

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func find(t testing.TB, name string) *Client {
	t.Helper()
	c, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEdit: what stands in a file stays as it is.
func TestEdit(t *testing.T) {
	for _, tt := range []struct{ name, client, old, want string }{
		{"one line", "cursor", `{"mcpServers": {"a": {}}}`,
			"{\"mcpServers\": {\"a\": {},\n  \"coderunner\": {\n    \"command\": \"/c\",\n    \"args\": [\"serve\"]\n  }\n}}"},
		{"empty object", "cursor", "{}", "{\n  \"mcpServers\": {\n    \"coderunner\": {\n      \"command\": \"/c\",\n      \"args\": [\"serve\"]\n    }\n  }\n}"},
		{"comment in an empty table", "zed", "{\n\t\"context_servers\": { // none yet\n\t},\n}\n",
			"{\n\t\"context_servers\": { // none yet\n\t\t\"coderunner\": {\n\t\t\t\"command\": \"/c\",\n\t\t\t\"args\": [\"serve\"]\n\t\t}\n\t},\n}\n"},
		{"comment after the last", "vscode", "{\n  \"inputs\": [] // none, {\n}\n",
			"{\n  \"inputs\": [], // none, {\n  \"servers\": {\n    \"coderunner\": {\n      \"type\": \"stdio\",\n      \"command\": \"/c\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n"},
		{"null", "cursor", `{"mcpServers": null}`, "{\"mcpServers\": {\n  \"coderunner\": {\n    \"command\": \"/c\",\n    \"args\": [\"serve\"]\n  }\n}}"},
		{"Windows lines", "cursor", "{\r\n  \"a\": 1\r\n}\r\n",
			"{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"coderunner\": {\r\n      \"command\": \"/c\",\r\n      \"args\": [\"serve\"]\r\n    }\r\n  }\r\n}\r\n"},
		{"another command", "opencode", "{\"mcp\": {\"coderunner\": {\"enabled\": false, /* off */ \"command\": [\"/old\"], \"type\": \"local\"}}}",
			"{\"mcp\": {\"coderunner\": {\"enabled\": false, /* off */ \"command\": [\"/c\", \"serve\"], \"type\": \"local\"}}}"},
		{"TOML, another command", "codex", "[mcp_servers.coderunner] # ours\nenabled = false\ncommand = '/old'\n\n[mcp_servers.coderunner.env]\nA = \"1\"\n",
			"[mcp_servers.coderunner] # ours\nargs = [\"serve\"]\nenabled = false\ncommand = \"/c\"\n\n[mcp_servers.coderunner.env]\nA = \"1\"\n"},
		{"TOML without a last line end", "codex", "a = 1", "a = 1\n\n[mcp_servers.coderunner]\ncommand = \"/c\"\nargs = [\"serve\"]\n"},
		{"YAML, another command", "goose", "extensions:\n    coderunner:\n        enabled: false # off\n        args:\n            - a\n            - b\n        cmd: /old\nz: 1\n",
			"extensions:\n    coderunner:\n        type: \"stdio\"\n        enabled: false # off\n        args: [\"serve\"]\n        cmd: \"/c\"\nz: 1\n"},
		{"YAML, empty braces", "goose", "a: 1\nextensions: {}\nz: 1\n",
			"a: 1\nextensions:\n  coderunner:\n    enabled: true\n    type: \"stdio\"\n    name: \"coderunner\"\n    cmd: \"/c\"\n    args: [\"serve\"]\n    timeout: 300\nz: 1\n"},
	} {
		got, err := find(t, tt.client).Edit([]byte(tt.old), Server{Command: "/c", Args: []string{"serve"}})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
		if again, err := find(t, tt.client).Edit(got, Server{Command: "/c", Args: []string{"serve"}}); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s, again: %s, %v", tt.name, again, err)
		}
	}
}

// TestRefused: files that cannot be edited without changing more.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ client, old, want string }{
		{"cursor", "[]", "line 1: it is not an object"},
		{"cursor", "{\"mcpServers\": []}", `"mcpServers" is not a table`},
		{"cursor", "{\"mcpServers\": {\"coderunner\": 1}}", `"coderunner" is not a table`},
		{"cursor", "{\n  \"a\": }", "line 2, column 8: "},
		{"codex", "mcp_servers = { a = { command = \"a\" } }\n", "add it by hand"},
		{"codex", "a = 1\nb = \n", "line 2, column "},
		{"goose", "extensions: {a: {cmd: b}}\n", "add it by hand"},
		{"goose", "a: 1\n b: 2\n", "line 2: "},
	} {
		if got, err := find(t, tt.client).Edit([]byte(tt.old), Server{Command: "/c", Args: []string{"serve"}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: %q, %v; want %q", tt.client, tt.old, got, err, tt.want)
		}
	}
}

// TestChangedMeanwhile: what another program wrote since is not lost.
func TestChangedMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mcp.json")
	if err := errors.Join(os.WriteFile(name, []byte("{}"), 0o640), os.Chmod(name, 0o640)); err != nil {
		t.Fatal(err)
	}
	first, err := find(t, "cursor").Change(name, Server{Command: "/c"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := find(t, "cursor").Change(name, Server{Command: "/d"})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Write(); err != nil {
		t.Fatal(err)
	}
	if err := second.Write(); err == nil || !strings.Contains(err.Error(), "changed by another program") {
		t.Errorf("the second write: %v", err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func FuzzEdit(f *testing.F) {
	for _, seed := range []string{"{}", "{\"a\": [1, {\"b\": null}], // c\n}", "a = 1\n[b.c]\nd = [1,\n2]\n", "a:\n  - b\nextensions:\n  c:\n    cmd: x\n", "{\"mcp\":{\"coderunner\":{}}}", "extensions:\n  coderunner:\n    cmd: |\n      x\n"} {
		for _, c := range []string{"cursor", "codex", "goose"} {
			f.Add(c, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		c, err := Find(name)
		if err != nil {
			t.Skip()
		}
		old := bytes.Clone(text)
		edited, err := c.Edit(text, Server{Command: `C:\a "b"`, Args: []string{"serve", "ü"}})
		if !bytes.Equal(text, old) {
			t.Error("the text was changed in place")
		}
		if err != nil {
			return
		}
		if _, err := c.Edit(edited, Server{Command: "/c", Args: []string{"serve"}}); err != nil {
			t.Errorf("%q became %q, which cannot be edited: %v", old, edited, err)
		}
	})
}

// TestHTTP has the entries of clients for a server over HTTP.
func TestHTTP(t *testing.T) {
	const url = "https://runner.example/mcp"
	for client, want := range map[string]string{
		"claude-code": `"type": "http",`, "cursor": `"Bearer ${env:CODE_RUNNER_HTTP_TOKEN}"`, "gemini-cli": `"httpUrl": "https://runner.example/mcp"`,
		"opencode": `{"Authorization":"Bearer {env:CODE_RUNNER_HTTP_TOKEN}"}`, "windsurf": `"serverUrl": "`, "vscode": `"servers": {`,
		"codex": "[mcp_servers.coderunner]\nurl = \"https://runner.example/mcp\"\nbearer_token_env_var = \"CODE_RUNNER_HTTP_TOKEN\"\n",
	} {
		c := find(t, client)
		text, err := c.Edit(nil, Server{URL: "http://127.0.0.1:1/mcp"})
		if err == nil {
			text, err = c.Edit(text, Server{URL: url})
		}
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "command") {
			t.Errorf("%s: %s, %v; want %s", client, text, err, want)
		}
		if _, err := c.Edit(text, Server{Command: "/c"}); err == nil || !strings.Contains(err.Error(), "remove it first") {
			t.Errorf("%s, a command where a URL is: %v", client, err)
		}
	}
	if _, err := find(t, "zed").Edit(nil, Server{URL: url}); err == nil || !strings.Contains(err.Error(), "claude-code, codex") {
		t.Error(err)
	}
}
