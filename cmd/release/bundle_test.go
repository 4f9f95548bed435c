package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// unpackBundle unpacks this platform's bundle as a client would.
func unpackBundle(t *testing.T) (r *release, name, dir string) {
	t.Helper()
	r, dir = releaseOfThis(t), t.TempDir()
	name = filepath.Join(r.out, "download", r.bundled[r.platforms[0]].Name)
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		in, err := f.Open()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err == nil {
			err = os.WriteFile(to, data, 0o644) // an archive's modes are often lost
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r, name, dir
}

// TestBundle starts a bundle by its manifest, and wants the user's answers to be flags.
func TestBundle(t *testing.T) {
	need(t, "node")
	r, _, dir := unpackBundle(t)
	var manifest struct {
		Server struct {
			MCP struct {
				Command string
				Args    []string
			} `json:"mcp_config"`
		}
		Icon string
	}
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(dir, "manifest.json"))), &manifest); err != nil {
		t.Fatal(err)
	}
	command := func(hosts string, folders ...string) (args []string) {
		for _, arg := range manifest.Server.MCP.Args {
			switch arg {
			case "${user_config.read}":
				args = append(args, folders...)
			case "${user_config.hosts}":
				args = append(args, hosts)
			default:
				args = append(args, strings.ReplaceAll(arg, "${__dirname}", dir))
			}
		}
		return args
	}
	u := newUser(t)
	u.answers(t, manifest.Server.MCP.Command, command("${user_config.hosts}")...)
	u.answers(t, manifest.Server.MCP.Command, command("a.example, b.example:8080", t.TempDir())...)
	if readFile(t, filepath.Join(dir, manifest.Icon))[:4] != "\x89PNG" {
		t.Error("the icon is no PNG")
	}
	if runtime.GOOS == "windows" {
		return
	}
	script := filepath.Join(dir, "server/node_modules", r.npmName(r.platforms[0]), "coderunner")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nfor a; do echo \"$a\"; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{command("${user_config.hosts}"), ""},
		{command(""), ""},
		{command("a.example, b.example:8080"), "--allow-net=a.example,b.example:8080\n"},
		{command("", "/home/an n", "/b"), "--allow-read=/home/an n,/b\n"},
	} {
		if got := u.output(t, "node", tt.args...); got != tt.want {
			t.Errorf("%q: the binary gets %q, want %q", tt.args, got, tt.want)
		}
	}
}

// TestBundleByItsTool validates, unpacks and configures a bundle by the format's own tool.
func TestBundleByItsTool(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: fetches the tool")
	}
	need(t, "npm", "node")
	_, name, _ := unpackBundle(t)
	tools := t.TempDir()
	output(t, "npm", "install", "--prefix", tools, "@anthropic-ai/mcpb@2.1.2")
	mcpb := filepath.Join(tools, "node_modules/.bin/mcpb")
	dir := filepath.Join(t.TempDir(), "unpacked")
	output(t, mcpb, "unpack", name, dir)
	if out := output(t, mcpb, "validate", filepath.Join(dir, "manifest.json")); !strings.Contains(out, "Manifest schema validation passes") {
		t.Error(out)
	}
	again := filepath.Join(t.TempDir(), "again.mcpb")
	output(t, mcpb, "pack", dir, again)
	script := `import { getMcpConfigForManifest } from ` + jsonText(t, filepath.Join(tools, "node_modules/@anthropic-ai/mcpb/dist/node.js")) + `;
import { readFileSync } from "node:fs";
const dir = ` + jsonText(t, dir) + `;
const c = await getMcpConfigForManifest({ manifest: JSON.parse(readFileSync(dir + "/manifest.json")), extensionPath: dir, systemDirs: {}, userConfig: { read: ["/a", "/b"] }, pathSeparator: "/" });
console.log(JSON.stringify(c));`
	var config struct {
		Command string
		Args    []string
	}
	if err := json.Unmarshal([]byte(output(t, "node", "--input-type=module", "-e", script)), &config); err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(config.Args, "--allow-read"); i < 0 || !slices.Equal(config.Args[i+1:i+3], []string{"/a", "/b"}) {
		t.Errorf("the configured command is %+v", config)
	}
	newUser(t).answers(t, config.Command, config.Args...)
}

func jsonText(t *testing.T, s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestServerJSON wants the registry's entry to fit its schema, which is in the Go module
// of the registry, and the digests to be those of the bundles.
func TestServerJSON(t *testing.T) {
	r := releaseOfAll(t)
	text := readFile(t, filepath.Join(r.out, "server.json"))
	var entry struct {
		Packages []struct{ RegistryType, Identifier, FileSHA256 string }
	}
	var value any
	if err := json.Unmarshal([]byte(text), &entry); err != nil {
		t.Fatal(err)
	}
	sums := readFile(t, filepath.Join(r.out, "download/SHA256SUMS"))
	kinds := map[string]int{}
	for _, p := range entry.Packages {
		kinds[p.RegistryType]++
		if _, base, ok := strings.Cut(p.Identifier, "/v1.2.3-rc.4/"); ok && !strings.Contains(sums, p.FileSHA256+"  "+base+"\n") {
			t.Errorf("%s has another digest than %s", p.Identifier, p.FileSHA256)
		}
		if _, err := url.Parse(p.Identifier); p.RegistryType == "mcpb" && err != nil {
			t.Error(err)
		}
	}
	if kinds["npm"] != 1 || kinds["oci"] != 1 || kinds["mcpb"] != len(platforms) {
		t.Errorf("packages: %v", kinds)
	}
	if os.Getenv("CODERUNNER_LONG") == "" {
		return // fetches the schema
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "download", "-json", "github.com/modelcontextprotocol/registry@v1.8.8")), &module); err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	err := json.Unmarshal([]byte(readFile(t, filepath.Join(module.Dir, "internal/validators/schemas/2025-12-11.json"))), &schema)
	if err == nil {
		err = json.Unmarshal([]byte(text), &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	if schema.ID != serverSchema {
		t.Errorf("the schema is %s, we name %s", schema.ID, serverSchema)
	}
	schema.Schema = "" // the validator reads drafts 7 and 2020-12, whose difference this schema does not meet
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Error(err)
	}
	delete(value.(map[string]any), "name")
	if err := resolved.Validate(value); err == nil {
		t.Error("an entry without a name is taken")
	}
}
