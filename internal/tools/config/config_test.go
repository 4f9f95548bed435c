package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T, name, text string) (*Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(file, Own{})
}

// TestLoad has the forms of entries that clients have.
func TestLoad(t *testing.T) {
	t.Setenv("TOOLS_TOKEN", "tkn")
	t.Setenv("TOOLS_EMPTY", "")
	none := map[string]string{}
	for _, tt := range []struct {
		name, text string
		want       Server
	}{
		{"a.json", `{"mcpServers": {"a": {"command": "x", "args": ["-y", "${TOOLS_TOKEN}"], "env": {"T": "${TOOLS_TOKEN}", "N": 1, "D": "${TOOLS_NONE:-d}${TOOLS_EMPTY:-e}", "L": "$TOOLS_TOKEN ${", "K": "{env:TOOLS_TOKEN}"}, // c
			"disabledTools": ["t"]}}}`, Server{Name: "a", Command: "x", Args: []string{"-y", "tkn"}, Env: map[string]string{"T": "tkn", "N": "1", "D": "de", "L": "$TOOLS_TOKEN ${", "K": "tkn"}, Headers: none, Disabled: []string{"t"}}},
		{"b.json", `{"servers": {"a": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOOLS_TOKEN}"}}}}`,
			Server{Name: "a", URL: "https://example.com/mcp", Env: none, Headers: map[string]string{"Authorization": "Bearer tkn"}}},
		{"c.json", `{"context_servers": {"a": {"command": {"path": "x", "args": ["y"], "env": {"Z": "z"}}}}}`, Server{Name: "a", Command: "x", Args: []string{"y"}, Env: map[string]string{"Z": "z"}, Headers: none}},
		{"d.toml", "[mcp_servers.a]\nurl = 'http://127.0.0.1:1/mcp'\nbearer_token_env_var = 'TOOLS_TOKEN'\nenabled_tools = ['t']\n",
			Server{Name: "a", URL: "http://127.0.0.1:1/mcp", Env: none, Headers: map[string]string{"Authorization": "Bearer tkn"}, Enabled: []string{"t"}}},
	} {
		c, err := load(t, tt.name, tt.text)
		if err != nil || len(c.Servers) != 1 {
			t.Errorf("%s: %+v, %v", tt.name, c, err)
			continue
		}
		if tt.name != "d.toml" && c.Servers[0].Secrets["TOOLS_TOKEN"] != "tkn" && tt.name != "c.json" {
			t.Errorf("%s: the variable is no secret", tt.name)
		}
		c.Servers[0].Secrets = nil
		if diff := cmp.Diff(tt.want, c.Servers[0]); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestEntryErrors are kept with the server.
func TestEntryErrors(t *testing.T) {
	for entry, want := range map[string]string{
		`{"command": "x", "env": {"A": "${TOOLS_NONE}"}}`:   "TOOLS_NONE is not set",
		`{"command": "x", "env": {"A": "${input:token}"}}`:  "asks its user",
		`{"command": "x", "sandbox": {"reads": []}}`:        "neither true nor an object with read",
		`{"url": "https://example.com", "sandbox": true}`:   "not started by a command",
		`{"command": "x", "openapi": "x.yaml"}`:             "a command and a document of OpenAPI",
		`{"type": "sse", "url": "https://example.com/sse"}`: "HTTP+SSE",
		`{"url": "ftp://example.com"}`:                      "not one of HTTP",
		`{}`:                                                "neither a command nor a URL",
		`{"command": 1}`:                                    "neither a text nor a list",
		`7`:                                                 "not like those of MCP clients",
		`{"command": "x", "url": "https://example.com"}`:    "a command and a URL",
		`{"url": "https://example.com", "bearer_token_env_var": "TOOLS_NONE"}`: "TOOLS_NONE is not set",
	} {
		c, err := load(t, "a.json", `{"mcpServers": {"a": `+entry+`, "off": {"disabled": true, "command": "${TOOLS_NONE}"}, "off2": {"enabled": false}}}`)
		if err != nil || len(c.Servers) != 1 || c.Servers[0].Err == nil || !strings.Contains(c.Servers[0].Err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", entry, c, err, want)
		}
	}
}

// TestRefused are files that are refused as a whole.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:               "has none of mcpServers, servers",
		`{"mcpServers": }`: "line 1",
		`{"mcpServers": {}, "coderunner": {"alow": []}}`:        `unknown field "alow"`,
		`{"mcpServers": {}, "coderunner": {"deny": ["write"]}}`: `"write" is not a pattern`,
		`{"mcpServers": {}, "coderunner": {"deny": ["a.[b"]}}`:  "is not a pattern",
		`{"mcpServers": {}, "coderunner": {"calls": -1}}`:       "less than 0",
	} {
		if c, err := load(t, "a.json", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, c, err, want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json"), Own{}); err == nil || !strings.Contains(err.Error(), "or name a client: claude-code") {
		t.Error(err)
	}
}

// TestClient reads a client's own file by its name.
func TestClient(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("TOOLS_TOKEN", "tkn")
	for file, text := range map[string]string{
		".cursor/mcp.json":      `{"mcpServers": {"a": {"command": "a"}, "coderunner": {"command": "/opt/coderunner", "args": ["serve"]}}}`,
		".gemini/settings.json": `{"mcpServers": {"a": {"httpUrl": "https://example.com/$TOOLS_TOKEN/"}}}`,
	} {
		file = filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := Load("cursor", Own{}); err != nil || len(c.Servers) != 1 || len(c.LeftOut) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := Load("gemini-cli", Own{}); err != nil || c.Servers[0].URL != "https://example.com/tkn/" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestOwn: which entries are this program, and which are not.
func TestOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "other-name")
	if err := os.Symlink(self, link); err != nil {
		t.Skip(err)
	}
	own := Own{self, []string{"@acme/runner", "ghcr.io/acme/run"}}
	for line, want := range map[string]bool{
		"coderunner serve": true, "/opt/bin/coderunner": true, link + " serve": true, self: true,
		"npx -y @somebody/coderunner@1.2.3 serve": true, "npx -y --prefer-offline @acme/runner@1.2": true, "cmd /c npx -y coderunner": true, "uvx --from coderunner==1.2 coderunner": true,
		"docker run -i --rm -v coderunner:/var/cache/coderunner ghcr.io/somebody/coderunner:1.2": true, "docker run -i ghcr.io/acme/run:1": true, "npx --package=coderunner x": true,
		"npx -y @modelcontextprotocol/server-filesystem /home/me/coderunner": false, "uvx mcp-server-git --repository /home/me/coderunner": false, "python3 coderunner": false,
		"npx -y other coderunner": false, "docker run -v /home/me/coderunner:/x other": false, "sh -c coderunner": false,
	} {
		words := strings.Fields(line)
		if got := own.is(Server{Command: words[0], Args: words[1:]}); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	if own.is(Server{URL: "https://example.com/coderunner"}) {
		t.Error("a URL")
	}
}
