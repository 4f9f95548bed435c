package requirement

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"coderunner/internal/lazyregexp"
)

// setPythonPath matches pytest's option in files that are not TOML.
var setPythonPath = lazyregexp.New(`(?m)^pythonpath\s*[=:](.*(?:\n[ \t].*)*)`)

// PythonPath returns the directories where pytest looks for modules, by one of the files that
// have its options.
func PythonPath(name string, text []byte) (dirs []string) {
	if path.Ext(name) != ".toml" {
		if m := setPythonPath.FindStringSubmatch(string(text)); m != nil && bytes.Contains(text, []byte("pytest]")) {
			dirs = strings.Fields(m[1])
		}
		return dirs
	}
	var file struct {
		Tool struct {
			Pytest struct {
				Options struct {
					Path any `toml:"pythonpath"`
				} `toml:"ini_options"`
			} `toml:"pytest"`
		} `toml:"tool"`
	}
	_ = toml.Unmarshal(text, &file) // pytest says what is wrong with it
	switch list := file.Tool.Pytest.Options.Path.(type) {
	case string:
		dirs = strings.Fields(list)
	case []any:
		for _, dir := range list {
			dirs = append(dirs, fmt.Sprint(dir))
		}
	}
	return dirs
}
