package clients

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// editTOML adds a table at the end, or changes the lines of the one that is there.
func editTOML(text []byte, at string, fields []field, exists bool) ([]byte, error) {
	end := lineEnd(text)
	if !exists {
		added := fmt.Sprintf("[%s.%s]%s", at, server, end)
		for _, f := range fields {
			added += f.key + " = " + inline(f.value) + end
		}
		if len(bytes.TrimSpace(text)) > 0 {
			added = end + added
		}
		return append(slices.Clip(withLineEnd(text)), added...), nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	header := regexp.MustCompile(`^\s*\[\s*"?` + at + `"?\s*\.\s*"?` + server + `"?\s*\]`)
	first := slices.IndexFunc(lines, header.MatchString) + 1
	next := slices.IndexFunc(lines[first:], func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "[") })
	if next < 0 {
		next = len(lines) - first
	}
	for _, f := range fields {
		key := regexp.MustCompile(`^\s*"?` + f.key + `"?\s*=`)
		line := f.key + " = " + inline(f.value) + end
		if i := slices.IndexFunc(lines[first:first+next], key.MatchString); i >= 0 {
			lines[first+i] = line
		} else {
			lines = slices.Insert(lines, first, line)
			next++
		}
	}
	return []byte(strings.Join(lines, "")), nil
}

// editYAML adds a mapping before the others, or changes the lines of the one that is
// there. Mappings in braces are not edited, except for an empty one.
func editYAML(text []byte, at string, fields []field, exists bool) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	end := lineEnd(text)
	key, servers := child(&doc, at)
	if key == nil {
		return append(slices.Clip(withLineEnd(text)), at+":"+end+yamlEntry("  ", "  ", fields, end)...), nil
	}
	lines := strings.SplitAfter(string(withLineEnd(text)), "\n")
	if len(servers.Content) == 0 {
		lines[key.Line-1] = at + ":" + end + yamlEntry("  ", "  ", fields, end)
		return []byte(strings.Join(lines, "")), nil
	}
	margin := strings.Repeat(" ", servers.Content[0].Column-1)
	if !exists {
		unit := "  "
		if first := servers.Content[1]; first.Kind == yaml.MappingNode && first.Line > servers.Content[0].Line {
			unit = strings.Repeat(" ", max(first.Column-1-len(margin), 1))
		}
		return []byte(strings.Join(slices.Insert(lines, key.Line, yamlEntry(margin, unit, fields, end)), "")), nil
	}
	_, entry := child(servers, server)
	for _, f := range slices.Backward(fields) {
		k, v := child(entry, f.key)
		margin := strings.Repeat(" ", entry.Column-1)
		line := margin + f.key + ": " + inline(f.value) + end
		if k == nil {
			lines = slices.Insert(lines, entry.Line-1, line)
			continue
		}
		lines[k.Line-1] = line
		for n := k.Line; n < lastLine(v); n++ {
			lines[n] = ""
		}
	}
	return []byte(strings.Join(lines, "")), nil
}

func yamlEntry(margin, unit string, fields []field, end string) string {
	text := margin + server + ":" + end
	for _, f := range fields {
		text += margin + unit + f.key + ": " + inline(f.value) + end
	}
	return text
}

// child returns the nodes of a key in a mapping or document, nil if there is none.
func child(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return n.Content[i], n.Content[i+1]
			}
		}
	}
	return nil, nil
}

// lastLine returns the number of the last line on which a part of a node begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, part := range n.Content {
		last = max(last, lastLine(part))
	}
	return last
}
