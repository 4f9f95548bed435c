package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPublish publishes by tools that only write down how they are called.
func TestPublish(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tools are shell scripts")
	}
	r := releaseOfAll(t)
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	for _, tool := range []string{"npm", "uv", "gh", "mcp-publisher"} {
		script := "#!/bin/sh\nfor last; do :; done\n[ -f \"$last\" ] || exit 1\necho " + tool + " \"$@\" >> " + log + "\n"
		if err := os.WriteFile(filepath.Join(bin, tool), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if err := r.publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(readFile(t, log)), "\n")
	if len(lines) != len(platforms)+4 {
		t.Fatalf("%d calls:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i, want := range map[int]string{
		0:                  "npm publish --access public --tag next ./npm/example-coderunner-win32-arm64-1.2.3-rc.4.tgz",
		len(platforms):     "npm publish --access public --tag next ./npm/example-coderunner-1.2.3-rc.4.tgz",
		len(platforms) + 1: "uv publish pypi/example_coderunner-1.2.3rc4-py3-none-macosx_12_0_arm64.whl ",
		len(platforms) + 2: "gh release create v1.2.3-rc.4 --title 1.2.3-rc.4 --generate-notes --prerelease download/SHA256SUMS ",
		len(platforms) + 3: "mcp-publisher publish server.json",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("call %d is %s, want %s", i, lines[i], want)
		}
	}
	if err := os.Remove(filepath.Join(r.out, "server.json")); err != nil {
		t.Fatal(err)
	}
	if err := r.publish(t.Context()); err == nil || !strings.Contains(err.Error(), "mcp-publisher publish server.json: exit status 1") {
		t.Errorf("a tool fails: %v", err)
	}
}

// TestDocumentedLines wants the documents to have the names that a release is made of.
// TestNPM, TestWheelsByPip, TestWheelsByUv, TestInstallScript and TestGoInstall run these lines.
func TestDocumentedLines(t *testing.T) {
	source := "`CGO_ENABLED=0 go install " + owner.Module + "/cmd/coderunner@latest`"
	readme, install := readFile(t, "../../README.md"), readFile(t, "../../docs/install.md")
	r := &release{names: owner}
	for _, line := range []string{
		"`npx -y " + owner.NPM + "`", "`uvx " + strings.Join(r.uvxArgs(), " ") + "`", "`docker run -i --rm " + owner.Image + "`",
		"`brew install " + owner.Tap + "/coderunner`", "`curl -fsSL " + owner.Latest + "/install.sh \\| sh`", source,
	} {
		if !strings.Contains(readme, line) {
			t.Errorf("README.md lacks %s", line)
		}
	}
	for _, line := range []string{
		"`npm install -g " + owner.NPM + "`", "`npm uninstall -g " + owner.NPM + "`", "`uv tool install " + owner.PyPI + "`", "`uv tool upgrade " + owner.PyPI + "`",
		"`uv tool uninstall " + owner.PyPI + "`", "`pip install " + owner.PyPI + "`", "`pip uninstall " + owner.PyPI + "`",
		"`brew install " + owner.Tap + "/coderunner`", "`winget install " + owner.Publisher + ".coderunner`",
		"`curl -fsSL " + owner.Latest + "/install.sh \\| sh`", "`irm " + owner.Latest + "/install.ps1 \\| iex`",
		"`npx -y --prefer-offline " + owner.NPM + "@1.2.3`", "`uvx --from " + owner.PyPI + "==1.2.3 coderunner`",
		"`docker run -i --rm -v coderunner:/var/cache/coderunner " + owner.Image + ":1.2.3`", source,
	} {
		if !strings.Contains(install, line) {
			t.Errorf("docs/install.md lacks %s", line)
		}
	}
}

// TestWorkflow: the linter of workflows finds nothing.
func TestWorkflow(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: builds the linter")
	}
	output(t, "go", "run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12", "../../.github/workflows/release.yml")
}
