package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
)

// plugins makes what clients install by a link or as an extension: each starts this
// version by npx.
func (r *release) plugins(context.Context) error {
	type command struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	start := command{"npx", []string{"-y", "--prefer-offline", r.NPM + "@" + r.Version}}
	servers := map[string]command{"coderunner": start}
	author := map[string]string{"name": r.Publisher, "url": r.Homepage}
	for name, value := range map[string]any{
		"claude-code-plugin/.claude-plugin/plugin.json": map[string]any{
			"name": "coderunner", "version": r.Version, "description": description, "author": author, "homepage": r.Homepage, "license": "MIT", "mcpServers": "./.mcp.json"},
		"claude-code-plugin/.mcp.json": map[string]any{"mcpServers": servers},
		"claude-code-plugin/.claude-plugin/marketplace.json": map[string]any{
			"name": "coderunner", "owner": author, "plugins": []map[string]any{{"name": "coderunner", "source": "./", "description": description}}},
		"gemini-extension/gemini-extension.json": map[string]any{"name": "coderunner", "version": r.Version, "description": description, "mcpServers": servers},
	} {
		text, err := marshal(value)
		if err != nil {
			return err
		}
		if _, err := r.write(path.Join("clients", name), text, 0o644); err != nil {
			return err
		}
	}
	entry, err := json.Marshal(start)
	if err != nil {
		return err
	}
	named, err := json.Marshal(struct {
		Name string `json:"name"`
		command
	}{"coderunner", start})
	if err != nil {
		return err
	}
	links := fmt.Sprintf("cursor: cursor://anysphere.cursor-deeplink/mcp/install?name=coderunner&config=%s\nvscode: vscode:mcp/install?%s\n",
		url.QueryEscape(base64.StdEncoding.EncodeToString(entry)), url.PathEscape(string(named)))
	_, err = r.write("clients/links.txt", []byte(links), 0o644)
	return err
}
