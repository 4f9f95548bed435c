package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/lazyregexp"
)

// Models give arguments in other types than the schema has. What can mean only one
// thing is taken so: an error would cost them a turn.

// unquoted returns the JSON array or object that a string holds as text, or raw.
func unquoted(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '[' || s[0] == '{') && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return raw
}

var requirementStart = lazyregexp.New(`^@?[A-Za-z]`)

// oneString returns the strings that one string means: "numpy pandas" as packages are
// two, "pydantic>=2, <3" is one. Arguments with spaces might be one or several.
func oneString(name string, raw json.RawMessage) ([]string, bool) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil, false
	}
	if s = strings.TrimSpace(s); s == "" {
		return nil, true
	}
	if name != "packages" {
		return []string{s}, !strings.ContainsAny(s, " \t\n")
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	for _, w := range words {
		if !requirementStart.MatchString(w) || strings.ContainsRune(w, ';') {
			return []string{s}, true
		}
	}
	return words, true
}

// secondsText returns the number in a text such as "5" or "5 s".
func secondsText(raw json.RawMessage) (seconds float64, ok bool) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return 0, false
	}
	s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "s"))
	seconds, err := strconv.ParseFloat(s, 64)
	return seconds, err == nil
}

var fileKeys = map[string]string{
	"path": "path", "name": "path", "filename": "path", "text": "text", "content": "text", "contents": "text", "base64": "base64", "uri": "uri",
}

// coerceFiles returns the elements of an object of files: one of them, or their contents
// by their names.
func coerceFiles(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	var found map[string]json.RawMessage
	if json.Unmarshal(raw, &found) != nil || found == nil {
		return nil, false
	}
	var one map[string]json.RawMessage
	_ = json.Unmarshal(coerceFile(raw), &one)
	if found["path"] != nil || one["path"] != nil && len(one) > 1 {
		return []json.RawMessage{raw}, true
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		f := map[string]json.RawMessage{}
		if kind(found[name]) == "a string" {
			f["text"] = found[name]
		} else if json.Unmarshal(coerceFile(found[name]), &f) != nil || f == nil || f["path"] != nil {
			return nil, false
		}
		f["path"], _ = json.Marshal(name)
		item, _ := json.Marshal(f)
		items = append(items, item)
	}
	return items, true
}

// coerceFile returns a file's object with the keys that its own keys mean, or raw.
func coerceFile(raw json.RawMessage) json.RawMessage {
	var found map[string]json.RawMessage
	if json.Unmarshal(raw, &found) != nil {
		return raw
	}
	out := map[string]json.RawMessage{}
	for key, value := range found {
		meant := fileKeys[key]
		if meant == "" || out[meant] != nil {
			return raw // none of ours, or two for one
		}
		out[meant] = value
	}
	b, _ := json.Marshal(out)
	return b
}

// kinds are the types of JSON values by their first bytes; the rest are numbers.
var kinds = map[byte]string{'{': "an object", '[': "an array", '"': "a string", 't': "a boolean", 'f': "a boolean", 'n': "null"}

// kind names the type of a JSON value.
func kind(raw json.RawMessage) string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return "missing"
	}
	return cmp.Or(kinds[raw[0]], "a number")
}
