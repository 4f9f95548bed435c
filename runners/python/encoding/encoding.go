// Package encoding decodes Python programs that are not in UTF-8 but in an encoding that
// they declare.
//
// # Sources
//
// PEP 263.
package encoding

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// declared is the line by which a program names its encoding, one of the first two.
const declared = `^(?:[ \t\f]*(?:#.*)?\r?\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`

// Decode returns the text of a program, whose name is for errors.
func Decode(file, code string) (string, error) {
	if utf8.ValidString(code) {
		return code, nil
	}
	if m := regexp.MustCompile(declared).FindStringSubmatch(code); m != nil {
		if e := named(m[1]); e != nil {
			return e.NewDecoder().String(code)
		}
	}
	at := 0
	for at < len(code) {
		r, size := utf8.DecodeRuneInString(code[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return "", fmt.Errorf(`%s:%d: not UTF-8 (byte 0x%02x): save it as UTF-8, or name its encoding in the first line (# coding: latin-1)`,
		file, strings.Count(code[:at], "\n")+1, code[at])
}

// named returns an encoding by one of Python's names, nil if it is not known.
func named(name string) encoding.Encoding {
	switch name = strings.ToLower(name); strings.ReplaceAll(name, "_", "-") {
	case "latin-1", "latin1", "iso-8859-1", "l1": // for the index, Windows-1252
		return charmap.ISO8859_1
	}
	if e, err := htmlindex.Get(name); err == nil && !strings.HasPrefix(name, "utf") {
		return e
	}
	return nil
}
