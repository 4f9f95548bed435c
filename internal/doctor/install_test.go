package doctor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInstalled(t *testing.T) {
	names := Packages{NPM: "@a/coderunner", PyPI: "coderunner", Image: "registry.example/coderunner"}
	for _, tt := range []struct{ path, by, update, remove string }{
		{"/home/a/.npm/_npx/0f1e/node_modules/@a/coderunner-linux-x64/coderunner", "npx", "coderunner config CLIENT --npx --write, by a newer version", "rm -r '/home/a/.npm/_npx/0f1e'"},
		{"/usr/local/lib/node_modules/@a/coderunner/node_modules/@a/coderunner-linux-x64/coderunner", "npm install -g", "npm install -g @a/coderunner@latest", "npm uninstall -g @a/coderunner"},
		{"C:/Users/A B/AppData/Roaming/npm/node_modules/@a/coderunner/x/coderunner.exe", "npm install -g", "npm install -g @a/coderunner@latest", "npm uninstall -g @a/coderunner"},
		{"/src/my app/node_modules/@a/coderunner-linux-x64/coderunner", "npm install", "npm install --prefix '/src/my app' @a/coderunner@latest", "npm uninstall --prefix '/src/my app' @a/coderunner"},
		{"/home/a/.local/share/uv/tools/coderunner/bin/coderunner", "uv tool install", "uv tool upgrade coderunner", "uv tool uninstall coderunner"},
		{"/home/a/.cache/uv/archive-v0/Qw/bin/coderunner", "uvx", "coderunner config CLIENT --uvx --write, by a newer version", "uv cache clean coderunner"},
		{"/home/a/.local/share/pipx/venvs/coderunner/bin/coderunner", "pipx", "pipx upgrade coderunner", "pipx uninstall coderunner"},
		{"/opt/homebrew/Cellar/coderunner/1.2.3/bin/coderunner", "Homebrew", "brew upgrade coderunner", "brew uninstall coderunner"},
		{"C:/Users/a/scoop/apps/coderunner/current/coderunner.exe", "Scoop", "scoop update coderunner", "scoop uninstall coderunner"},
		{"/home/a/.local/bin/coderunner", "an archive", "the line that installed it, of the newer version", "rm '/home/a/.local/bin/coderunner'"},
	} {
		if got, want := installed(tt.path, names), (Install{tt.by, tt.path, tt.update, tt.remove}); got != want {
			t.Errorf("%s:\n%+v, want\n%+v", tt.path, got, want)
		}
	}
	if got := installed("/src/node_modules/coderunner", Packages{}).By; got != "go build" {
		t.Errorf("a build that knows no packages: %q", got)
	}
	t.Setenv("container", "oci")
	if got := installed("/usr/local/bin/coderunner", names); got.By != "an image" || got.Update != "docker pull registry.example/coderunner" {
		t.Errorf("%+v", got)
	}
	t.Setenv("container", "")
	env := t.TempDir()
	for _, name := range []string{"bin/python3", "lib/python3.11/site-packages/coderunner-1.2.3.dist-info/METADATA"} {
		name = filepath.Join(env, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := installed(filepath.Join(env, "bin/coderunner"), names).Update, filepath.Join(env, "bin/python3")+" -m pip install -U coderunner"; got != want {
		t.Errorf("update by %q, want %q", got, want)
	}
}
