package requirement

import (
	"errors"
	"fmt"
	"strings"

	"deps.dev/util/semver"
	"github.com/pelletier/go-toml/v2"
)

// maxScript bounds the inline metadata's text.
const maxScript = 256 << 10

// Script is a program's inline metadata (PEP 723).
type Script struct {
	RequiresPython string
	Dependencies   []string
	Lock           []Locked // nil when it has none, see [WriteLock]
}

// ParseScript reads the "# /// script" block of a program, if it has one. The
// errors are sentences for whoever wrote the program.
func ParseScript(code string) (Script, error) {
	text, err := scriptBlock(code)
	if err != nil || text == "" {
		return Script{}, err
	}
	var block struct {
		RequiresPython string   `toml:"requires-python"`
		Dependencies   []string `toml:"dependencies"`
		Tool           struct {
			Coderunner struct {
				Lock []Locked `toml:"lock"`
			} `toml:"coderunner"`
		} `toml:"tool"`
	}
	if err := toml.Unmarshal([]byte(text), &block); err != nil {
		return Script{}, fmt.Errorf("the program's script block: %w", tomlError(err))
	}
	s := Script{RequiresPython: block.RequiresPython, Dependencies: block.Dependencies, Lock: block.Tool.Coderunner.Lock}
	return s, checkLock(s.Lock)
}

// scriptBlock cuts the block out and takes the comment signs away.
func scriptBlock(code string) (string, error) {
	var found *string
	var block strings.Builder
	inside := false
	for line := range strings.Lines(code) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case !inside && line == "# /// script":
			if found != nil {
				return "", errors.New("the program has two script blocks, one is allowed")
			}
			inside = true
			block.Reset()
		case !inside:
		case line == "# ///":
			text := block.String()
			found, inside = &text, false
		case line == "#":
			block.WriteByte('\n')
		case strings.HasPrefix(line, "# "):
			block.WriteString(line[2:] + "\n")
		default:
			inside = false // never closed: no block
		}
		if block.Len() > maxScript {
			return "", errors.New("the program's script block is too long")
		}
	}
	if found == nil {
		return "", nil
	}
	return *found, nil
}

// CheckPython reports whether the program's requires-python allows this Python,
// such as "3.14.2".
func (s Script) CheckPython(python string) error {
	if s.RequiresPython == "" {
		return nil
	}
	c, err := semver.PyPI.ParseConstraint(s.RequiresPython)
	if err != nil {
		return fmt.Errorf("the program's script block has the requires-python %q, which is not a range of versions", s.RequiresPython)
	}
	if !c.Match(python) {
		return fmt.Errorf("the program's script block wants Python %s, this is %s", s.RequiresPython, python)
	}
	return nil
}
