package catalog

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"coderunner/runners"
)

// Shapes remembers the types of results, without their values, of tools that describe none.
// Its methods are safe for concurrent use.
type Shapes struct {
	mu   sync.Mutex
	seen map[string]shape // by tool
}

// shape is a schema, which takes everything if it is empty.
type shape struct {
	Type       string           `json:"type,omitempty"`
	Items      *shape           `json:"items,omitempty"`
	Properties map[string]shape `json:"properties,omitzero"` // nil: an object whose names are data
	Required   []string         `json:"required,omitzero"`
	AnyOf      []shape          `json:"anyOf,omitempty"` // in place of all others
}

// empty reports whether a shape takes everything.
func (s shape) empty() bool { return s.Type == "" && s.AnyOf == nil }

// maxShapes bounds the tools, maxKeys the names of an object that are taken for those of its
// fields: more are data.
const (
	maxShapes = 2000
	maxKeys   = 30
)

// Learn adds the result of a tool. If that changes what is known, it returns all of it, for
// [Shapes.Load].
func (s *Shapes) Learn(tool string, r *runners.ToolResult) (changed []byte) {
	seen := shapeOf(value(r), 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]shape{}
	}
	if old, ok := s.seen[tool]; ok {
		if seen = merged(old, seen, 0); reflect.DeepEqual(old, seen) {
			return nil
		}
	} else if len(s.seen) >= maxShapes {
		return nil
	}
	s.seen[tool] = seen
	changed, _ = json.Marshal(s.seen) // schemas always can be
	return changed
}

// Load takes what was learned before. What cannot be read was not.
func (s *Shapes) Load(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if json.Unmarshal(text, &s.seen) != nil || len(s.seen) > maxShapes {
		s.seen = nil
	}
}

// Schema returns what was learned of a tool, nil if that is nothing.
func (s *Shapes) Schema(tool string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen[tool]
	if seen.empty() {
		return nil
	}
	text, _ := json.Marshal(seen) // schemas always can be
	return text
}

// value returns a result as programs get it. Other contents than one text have no shape.
func value(r *runners.ToolResult) (v any) {
	text := r.Structured
	if text == nil && len(r.Content) == 1 && r.Content[0].Type == "text" {
		text = r.Content[0].Value()
	}
	if text == nil {
		return struct{}{}
	}
	_ = json.Unmarshal(text, &v) // what is not JSON has the shape of null
	return v
}

// shapeOf returns the shape of a value.
func shapeOf(v any, depth int) shape {
	if depth >= maxDepth-1 {
		return shape{}
	}
	switch v := v.(type) {
	case nil:
		return shape{Type: "null"}
	case bool:
		return shape{Type: "boolean"}
	case string:
		return shape{Type: "string"}
	case float64:
		if v == float64(int64(v)) {
			return shape{Type: "integer"}
		}
		return shape{Type: "number"}
	case []any:
		s := shape{Type: "array"}
		for _, each := range v[:min(len(v), 50)] {
			item := shapeOf(each, depth+1)
			if s.Items != nil {
				item = merged(*s.Items, item, depth+1)
			}
			s.Items = &item
		}
		return s
	case map[string]any:
		names := sortedNames(v)
		if len(names) > maxKeys || slices.ContainsFunc(names, isData) {
			return shape{Type: "object"}
		}
		s := shape{Type: "object", Properties: map[string]shape{}, Required: append([]string{}, names...)}
		for _, name := range names {
			s.Properties[name] = shapeOf(v[name], depth+1)
		}
		return s
	}
	return shape{}
}

// isData reports whether the name of a member looks like data rather than like the name of a
// field.
func isData(name string) bool {
	return len(name) == 0 || len(name) > 40 || strings.IndexByte("0123456789", name[0]) >= 0 ||
		strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && r != '-' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
}

// merged returns a shape that takes what two take.
func merged(a, b shape, depth int) shape {
	switch {
	case depth >= maxDepth || a.empty() || b.empty():
		return shape{}
	case a.Type == "integer" && b.Type == "number" || a.Type == "number" && b.Type == "integer":
		return shape{Type: "number"}
	case a.Type == "" || a.Type != b.Type:
		return alternatives(a, b, depth)
	case a.Type == "object":
		return mergedObjects(a, b, depth)
	case a.Items == nil: // a list of nothing, or what has no parts
		return b
	case b.Items != nil:
		items := merged(*a.Items, *b.Items, depth+1)
		a.Items = &items
	}
	return a
}

func mergedObjects(a, b shape, depth int) shape {
	if a.Properties == nil || b.Properties == nil {
		return shape{Type: "object"}
	}
	properties := maps.Clone(a.Properties)
	for name, each := range b.Properties {
		if old, ok := properties[name]; ok {
			each = merged(old, each, depth+1)
		}
		properties[name] = each
	}
	if len(properties) > maxKeys {
		return shape{Type: "object"}
	}
	required := slices.DeleteFunc(slices.Clone(a.Required), func(name string) bool { return !slices.Contains(b.Required, name) })
	return shape{Type: "object", Properties: properties, Required: required}
}

// alternatives returns a shape of different types, each once.
func alternatives(a, b shape, depth int) shape {
	list := func(s shape) []shape {
		if s.AnyOf != nil {
			return s.AnyOf
		}
		return []shape{s}
	}
	all := slices.Clone(list(a))
	for _, each := range list(b) {
		if i := slices.IndexFunc(all, func(old shape) bool { return old.Type == each.Type }); i >= 0 {
			all[i] = merged(all[i], each, depth+1)
		} else {
			all = append(all, each)
		}
	}
	if len(all) > 5 {
		return shape{}
	}
	return shape{AnyOf: all}
}
