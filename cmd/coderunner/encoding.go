package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// declaredEncoding matches the line by which a Python program names its encoding, one of the
// first two: PEP 263.
var declaredEncoding = regexp.MustCompile(`^(?:[ \t\f]*(?:#.*)?\r?\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`)

// decoded returns the text of a Python program that is not UTF-8 but in the encoding that it
// names.
func decoded(file, code string) (string, error) {
	if utf8.ValidString(code) {
		return code, nil
	}
	if m := declaredEncoding.FindStringSubmatch(code); m != nil {
		if e := encodingNamed(m[1]); e != nil {
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

// encodingNamed returns an encoding by one of Python's names, nil if it is not known.
func encodingNamed(name string) encoding.Encoding {
	switch name = strings.ToLower(name); strings.ReplaceAll(name, "_", "-") {
	case "latin-1", "latin1", "iso-8859-1", "l1": // for the index, Windows-1252
		return charmap.ISO8859_1
	}
	if e, err := htmlindex.Get(name); err == nil && !strings.HasPrefix(name, "utf") {
		return e
	}
	return nil
}
