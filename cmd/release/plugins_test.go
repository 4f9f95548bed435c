package main

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlugins wants each file and link to start this version by npx.
func TestPlugins(t *testing.T) {
	r := releaseOfAll(t)
	type command struct {
		Name, Command string
		Args          []string
	}
	want := []string{"-y", "--prefer-offline", r.NPM + "@1.2.3-rc.4"}
	check := func(where string, text []byte, entry func(map[string]command, command) command) {
		t.Helper()
		var file struct {
			Servers map[string]command `json:"mcpServers"`
			command
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v\n%s", where, err, text)
		}
		if c := entry(file.Servers, file.command); c.Command != "npx" || !slices.Equal(c.Args, want) {
			t.Errorf("%s starts %+v", where, c)
		}
	}
	ours := func(servers map[string]command, _ command) command { return servers["coderunner"] }
	bare := func(_ map[string]command, c command) command { return c }
	for _, name := range []string{"claude-code-plugin/.mcp.json", "gemini-extension/gemini-extension.json"} {
		check(name, []byte(readFile(t, filepath.Join(r.out, "clients", name))), ours)
	}
	var plugin struct{ Name, MCPServers string }
	dir := filepath.Join(r.out, "clients/claude-code-plugin")
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(dir, ".claude-plugin/plugin.json"))), &plugin); err != nil || plugin.Name != "coderunner" {
		t.Fatalf("%+v, %v", plugin, err)
	}
	readFile(t, filepath.Join(dir, plugin.MCPServers)) // it is there
	cursor, vscode, _ := strings.Cut(readFile(t, filepath.Join(r.out, "clients/links.txt")), "\n")
	link, err := url.Parse(strings.TrimPrefix(cursor, "cursor: "))
	if err != nil || link.Query().Get("name") != "coderunner" {
		t.Fatalf("%v, %v", link, err)
	}
	entry, err := base64.StdEncoding.DecodeString(link.Query().Get("config"))
	if err != nil {
		t.Fatal(err)
	}
	check("cursor's link", entry, bare)
	_, query, _ := strings.Cut(strings.TrimSpace(vscode), "?")
	text, err := url.PathUnescape(query)
	if err != nil {
		t.Fatal(err)
	}
	check("vscode's link", []byte(text), bare)
}
