package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is read of a schema.
const (
	maxDepth  = 8
	maxFields = 100
	maxEnum   = 20
)

// schema is a JSON Schema and the one that it is a part of.
type schema struct {
	root map[string]any
	at   map[string]any
}

// parse reads a schema. What is none is one that takes everything.
func parse(text json.RawMessage) schema {
	var at map[string]any
	_ = json.Unmarshal(text, &at)
	return schema{at, at}
}

// sub returns the schema of a value in the same root. A boolean is one without words.
func (s schema) sub(value any) schema {
	at, _ := value.(map[string]any)
	return schema{s.root, at}
}

// list returns the schemas below a keyword.
func (s schema) list(keyword string) (list []schema) {
	values, _ := s.at[keyword].([]any)
	for _, v := range values[:min(len(values), maxFields)] {
		list = append(list, s.sub(v))
	}
	return list
}

// followed returns the schema that a chain of references within the root leads to.
func (s schema) followed() schema {
	for range maxDepth {
		ref, ok := s.at["$ref"].(string)
		if !ok {
			return s
		}
		to, ok := s.pointer(ref)
		if !ok {
			return schema{s.root, nil}
		}
		s.at = to
	}
	return schema{s.root, nil}
}

// pointer returns what a reference within the root leads to.
func (s schema) pointer(ref string) (to map[string]any, ok bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, false
	}
	var at any = s.root
	for _, part := range strings.Split(path, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	to, ok = at.(map[string]any)
	return to, ok
}

// field is a property of an object.
type field struct {
	name     string
	schema   schema
	required bool
}

// fields returns the properties of an object: those that are required in the order in which
// they are named as such, then the others by name.
func (s schema) fields() (list []field) {
	properties, _ := s.at["properties"].(map[string]any)
	required, _ := s.at["required"].([]any)
	add := func(name string, required bool) {
		value, ok := properties[name]
		if ok && len(list) < maxFields && !slices.ContainsFunc(list, func(f field) bool { return f.name == name }) {
			list = append(list, field{name, s.sub(value), required})
		}
	}
	for _, v := range required[:min(len(required), maxFields)] {
		if name, ok := v.(string); ok {
			add(name, true)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		add(name, false)
	}
	return list
}

// types returns the names of types that the keyword type has, or that others show.
func (s schema) types() (names []string) {
	switch v := s.at["type"].(type) {
	case string:
		return []string{v}
	case []any:
		for _, t := range v[:min(len(v), 10)] {
			if name, ok := t.(string); ok {
				names = append(names, name)
			}
		}
		return names
	}
	switch {
	case s.at["properties"] != nil:
		return []string{"object"}
	case s.at["items"] != nil:
		return []string{"array"}
	}
	return nil
}
