package clients

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/tailscale/hujson"
)

func editJSON(text []byte, at string, fields []field, exists bool) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	if !exists {
		return setJSON(text, []string{at, server}, fields)
	}
	for _, f := range fields {
		var err error
		if text, err = setJSON(text, []string{at, server, f.key}, f.value); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// setJSON sets the value at a path of names. A list of fields is an object.
func setJSON(text []byte, path []string, value any) ([]byte, error) {
	root, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	unit := "  "
	if first := members(&root); len(first) > 0 {
		if margin := marginOf(text, first[0].Name.StartOffset); margin != "" {
			unit = margin
		}
	}
	at, margin := &root, ""
	for len(path) > 0 {
		next := member(at, path[0])
		if next == nil {
			break
		}
		margin = marginOf(text, next.Name.StartOffset)
		at, path = &next.Value, path[1:]
	}
	var out string
	switch list := members(at); {
	case len(path) == 0 || at.Value.Kind() == 'n': // replaced
		out = replace(text, at.StartOffset, at.EndOffset, render(path, value, margin, unit))
	case len(list) == 0:
		inside := bytes.TrimRight(text[at.StartOffset+1:at.EndOffset-1], " \t\r\n")
		out = replace(text, at.StartOffset, at.EndOffset, "{"+string(inside)+"\n"+margin+unit+quoted(path, value, margin+unit, unit)+"\n"+margin+"}")
	default:
		last := list[len(list)-1].Value
		comma := last.EndOffset + len(last.AfterExtra)
		before, after := ",", ""
		if text[comma] == ',' {
			before, after = "", ","
		}
		tail := text[last.EndOffset : at.EndOffset-1]
		kept := bytes.TrimRight(tail, " \t\r\n")
		space := string(tail[len(kept):])
		if !strings.Contains(space, "\n") {
			space = "\n" + margin
		}
		inner := cmp.Or(marginOf(text, list[0].Name.StartOffset), margin+unit)
		out = replace(text, last.EndOffset, at.EndOffset-1, before+string(kept)+"\n"+inner+quoted(path, value, inner, unit)+after+space)
	}
	if end := lineEnd(text); end != "\n" {
		out = strings.ReplaceAll(strings.ReplaceAll(out, end, "\n"), "\n", end)
	}
	return []byte(out), nil
}

// members returns the members of an object, nil of another value.
func members(v *hujson.Value) []hujson.ObjectMember {
	if o, ok := v.Value.(*hujson.Object); ok {
		return o.Members
	}
	return nil
}

// member returns the last member with a name, which is the one that counts.
func member(v *hujson.Value, name string) (found *hujson.ObjectMember) {
	list := members(v)
	for i := range list {
		if key, ok := list[i].Name.Value.(hujson.Literal); ok && key.String() == name {
			found = &list[i]
		}
	}
	return found
}

// marginOf returns the white space before an offset, "" if anything else is before
// it on its line.
func marginOf(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	if len(bytes.TrimLeft(line, " \t")) > 0 {
		return ""
	}
	return string(line)
}

func replace(text []byte, from, to int, with string) string {
	return string(text[:from]) + with + string(text[to:])
}

// quoted renders a member: the first name of the path, and what it has.
func quoted(path []string, value any, margin, unit string) string {
	return inline(path[0]) + ": " + render(path[1:], value, margin, unit)
}

// render renders a value below a path of names, each of which gets an object.
func render(path []string, value any, margin, unit string) string {
	inner := margin + unit
	if len(path) > 0 {
		return "{\n" + inner + quoted(path, value, inner, unit) + "\n" + margin + "}"
	}
	fields, ok := value.([]field)
	if !ok {
		return inline(value)
	}
	lines := make([]string, len(fields))
	for i, f := range fields {
		lines[i] = inner + quoted([]string{f.key}, f.value, inner, unit)
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n" + margin + "}"
}
