package requirement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
)

// The lock is a key of the program's inline metadata:
//
//	# /// script
//	# dependencies = ["pydantic"]
//	#
//	# [tool.coderunner]
//	# lock = [
//	#   {name = "pydantic", version = "2.14.3", source = "pypi", sha256 = "…"},
//	# ]
//	# ///
//
// It has every package that the program uses, including dependencies. PEP 723 leaves
// the tables below [tool] to tools.

const (
	lockTable = "# [tool.coderunner]"
	lockBegin = "# lock = ["
	lockEnd   = "# ]"
)

// WriteLock adds a lock to a program, replacing an older one, and changes nothing
// else. It returns an error when the program's block is malformed or has a lock in
// another form.
func WriteLock(code string, lock []Locked) (string, error) {
	if _, err := ParseScript(code); err != nil {
		return "", err
	}
	eol := "\n"
	if strings.Contains(code, "\r\n") {
		eol = "\r\n"
	}
	lines := splitLines(code)
	begin, end, err := blockLines(lines)
	if err != nil {
		return "", err
	}
	if begin < 0 {
		at := headLines(lines)
		block := append(append([]string{blockBegin, lockTable}, lockLines(lock)...), blockEnd)
		lines = slices.Insert(lines, at, block...)
	} else {
		block := withLock(lines[begin+1:end], lock)
		lines = slices.Replace(lines, begin+1, end, block...)
	}
	text := strings.Join(lines, eol)
	written, err := ParseScript(text)
	if err != nil || !slices.Equal(written.Lock, lock) {
		return "", errors.Join(errors.New("the program's [tool.coderunner] table has another form than the one that is written here; remove it first"), err)
	}
	return text, nil
}

var encodingLine = lazyregexp.New(`^[ \t\f]*#.*?coding[:=]`)

// headLines returns the number of lines that must stay first.
func headLines(lines []string) int {
	n := 0
	if strings.HasPrefix(lines[0], "#!") {
		n++
	}
	if len(lines) > n && encodingLine.MatchString(lines[n]) {
		n++
	}
	return n
}

func lockLines(lock []Locked) []string {
	lines := []string{lockBegin}
	for _, l := range lock {
		lines = append(lines, fmt.Sprintf("#   {name = %q, version = %q, source = %q, sha256 = %q},", l.Name, l.Version, l.Source, l.SHA256))
	}
	return append(lines, lockEnd)
}

// withLock returns the lines between a block's first and last with the lock.
func withLock(block []string, lock []Locked) []string {
	table := slices.Index(block, lockTable)
	if table < 0 {
		if n := len(block); n > 0 && block[n-1] != "#" {
			block = append(slices.Clone(block), "#")
		}
		return append(append(slices.Clone(block), lockTable), lockLines(lock)...)
	}
	begin := slices.Index(block[table:], lockBegin)
	if begin >= 0 {
		if n := slices.Index(block[table+begin:], lockEnd); n >= 0 {
			block = slices.Delete(slices.Clone(block), table+begin, table+begin+n+1)
		}
	}
	return slices.Insert(slices.Clone(block), table+1, lockLines(lock)...)
}
