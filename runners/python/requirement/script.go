package requirement

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"coderunner/internal/lazyregexp"
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
// errors are sentences for the program's author.
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

// scriptBlock returns the text of the block without the comment signs, "" if there
// is none.
func scriptBlock(code string) (string, error) {
	if !strings.Contains(code, blockBegin) {
		return "", nil
	}
	lines := splitLines(code)
	begin, end, err := blockLines(lines)
	if err != nil || begin < 0 {
		return "", err
	}
	var block strings.Builder
	for _, line := range lines[begin+1 : end] {
		block.WriteString(strings.TrimPrefix(line[1:], " ") + "\n")
	}
	if block.Len() > maxScript {
		return "", errors.New("the program's script block is too long")
	}
	return block.String(), nil
}

func splitLines(code string) []string {
	return strings.Split(strings.ReplaceAll(code, "\r\n", "\n"), "\n")
}

// blockLines returns the lines that begin and end the block, -1 if there is none.
func blockLines(lines []string) (begin, end int, err error) {
	begin, end = -1, -1
	open := -1
	for i, line := range lines {
		switch {
		case open < 0 && line == blockBegin && begin >= 0:
			return -1, -1, errors.New("the program has two script blocks, one is allowed")
		case open < 0 && line == blockBegin:
			open = i
		case open >= 0 && line == blockEnd:
			begin, end, open = open, i, -1
		case open >= 0 && line != "#" && !strings.HasPrefix(line, "# "):
			open = -1 // never closed: no block
		}
	}
	return begin, end, nil
}

// CheckPython returns an error if the program's requires-python excludes this
// Python, such as "3.14.2".
func (s Script) CheckPython(python string) error {
	if s.RequiresPython == "" {
		return nil
	}
	c, err := ParseRange(s.RequiresPython)
	if err != nil {
		return fmt.Errorf("the program's script block has the requires-python %q, which is not a range of versions", s.RequiresPython)
	}
	if v, err := ParseVersion(python); err == nil && !c.Contains(v) {
		return fmt.Errorf("the program's script block wants Python %s, this is %s", s.RequiresPython, python)
	}
	return nil
}

// A block begins and ends with these lines.
const (
	blockBegin = "# /// script"
	blockEnd   = "# ///"
)

// tomlError names the line in which TOML is not valid.
func tomlError(err error) error {
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := at.Position()
		return fmt.Errorf("not valid TOML in line %d: %w", row, err)
	}
	return fmt.Errorf("not valid TOML: %w", err)
}

// Locked is an entry of a lock.
type Locked struct {
	Name    string `toml:"name"`
	Version string `toml:"version"`
	Source  string `toml:"source"` // as outcomes have it
	SHA256  string `toml:"sha256"` // of the package's file, hexadecimal
}

// maxLock bounds the entries of a lock.
const maxLock = 1000

var sha256Pattern = lazyregexp.New(`^[0-9a-f]{64}$`)

// checkLock reports what is wrong with a lock.
func checkLock(lock []Locked) error {
	if len(lock) > maxLock {
		return fmt.Errorf("the program's lock has %d packages, %d are allowed", len(lock), maxLock)
	}
	names := map[string]bool{}
	for _, l := range lock {
		r, err := Parse(l.Name)
		switch {
		case err != nil || r.Name != l.Name:
			return fmt.Errorf("the program's lock has the name %q, which is not a package's; write the lock anew with \"coderunner lock\"", l.Name)
		case names[l.Name]:
			return fmt.Errorf("the program's lock has %s twice", l.Name)
		case l.Version == "":
			return fmt.Errorf("the program's lock has no version of %s", l.Name)
		case !sha256Pattern.MatchString(l.SHA256):
			return fmt.Errorf("the program's lock has no SHA-256 of %s (64 digits, 0 to f)", l.Name)
		}
		names[l.Name] = true
	}
	return nil
}
