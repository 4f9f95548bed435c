package catalog

import (
	"encoding/json"
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
	seen map[string]map[string]any // schemas, by tool
}

// maxShapes bounds the tools, maxKeys the names of an object that are taken for those of its
// fields: more are data.
const (
	maxShapes = 2000
	maxKeys   = 30
)

// Learn adds the result of a tool. If that changes what is known, it returns all of it, for
// [Shapes.Load].
func (s *Shapes) Learn(tool string, r *runners.ToolResult) (changed []byte) {
	shape := shapeOf(value(r), 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]map[string]any{}
	}
	if old, ok := s.seen[tool]; ok {
		if shape = merged(old, shape, 0); reflect.DeepEqual(old, shape) {
			return nil
		}
	} else if len(s.seen) >= maxShapes {
		return nil
	}
	s.seen[tool] = shape
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
	shape := s.seen[tool]
	text, err := json.Marshal(shape)
	if len(shape) == 0 || err != nil {
		return nil
	}
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

// shapeOf returns a schema of a value.
func shapeOf(v any, depth int) map[string]any {
	if depth >= maxDepth-1 {
		return map[string]any{}
	}
	switch v := v.(type) {
	case nil:
		return map[string]any{"type": "null"}
	case bool:
		return map[string]any{"type": "boolean"}
	case string:
		return map[string]any{"type": "string"}
	case float64:
		if v == float64(int64(v)) {
			return map[string]any{"type": "integer"}
		}
		return map[string]any{"type": "number"}
	case []any:
		shape := map[string]any{"type": "array"}
		for _, each := range v[:min(len(v), 50)] {
			item := shapeOf(each, depth+1)
			if old, ok := shape["items"].(map[string]any); ok {
				item = merged(old, item, depth+1)
			}
			shape["items"] = item
		}
		return shape
	case map[string]any:
		return shapeOfObject(v, depth)
	}
	return map[string]any{}
}

func shapeOfObject(v map[string]any, depth int) map[string]any {
	names := sortedNames(v)
	if len(names) > maxKeys || slices.ContainsFunc(names, isData) {
		return map[string]any{"type": "object"}
	}
	properties, required := map[string]any{}, []any{}
	for _, name := range names {
		properties[name] = shapeOf(v[name], depth+1)
		required = append(required, name)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// isData reports whether the name of a member looks like data rather than like the name of a
// field.
func isData(name string) bool {
	return len(name) == 0 || len(name) > 40 || strings.IndexByte("0123456789", name[0]) >= 0 ||
		strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && r != '-' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
}

// merged returns a schema that takes what two take.
func merged(a, b map[string]any, depth int) map[string]any {
	ta, _ := a["type"].(string)
	tb, _ := b["type"].(string)
	switch {
	case depth >= maxDepth || len(a) == 0 || len(b) == 0:
		return map[string]any{}
	case ta == "integer" && tb == "number" || ta == "number" && tb == "integer":
		return map[string]any{"type": "number"}
	case ta == "object" && tb == "object":
		return mergedObjects(a, b, depth)
	case ta == "array" && tb == "array":
		ia, oka := a["items"].(map[string]any)
		ib, okb := b["items"].(map[string]any)
		switch {
		case !oka:
			return b
		case okb:
			return map[string]any{"type": "array", "items": merged(ia, ib, depth+1)}
		}
		return a
	case ta != "" && ta == tb:
		return a
	}
	return alternatives(a, b, depth)
}

func mergedObjects(a, b map[string]any, depth int) map[string]any {
	pa, oka := a["properties"].(map[string]any)
	pb, okb := b["properties"].(map[string]any)
	if !oka || !okb {
		return map[string]any{"type": "object"}
	}
	ra, _ := a["required"].([]any)
	rb, _ := b["required"].([]any)
	properties, required := map[string]any{}, []any{}
	for name, each := range pa {
		properties[name] = each
	}
	for name, each := range pb {
		if old, ok := properties[name]; ok {
			each = merged(object(old), object(each), depth+1)
		}
		properties[name] = each
	}
	if len(properties) > maxKeys {
		return map[string]any{"type": "object"}
	}
	for _, name := range ra {
		if slices.Contains(rb, name) {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// object returns a schema below another one: that of anything if it is none.
func object(v any) map[string]any {
	at, _ := v.(map[string]any)
	return at
}

// alternatives returns a schema of different types, each once.
func alternatives(a, b map[string]any, depth int) map[string]any {
	list := func(s map[string]any) []any {
		if any, ok := s["anyOf"].([]any); ok {
			return any
		}
		return []any{s}
	}
	all := slices.Clone(list(a))
next:
	for _, each := range list(b) {
		each := object(each)
		for i, old := range all {
			if old := object(old); old["type"] == each["type"] {
				all[i] = merged(old, each, depth+1)
				continue next
			}
		}
		all = append(all, each)
	}
	if len(all) > 5 {
		return map[string]any{}
	}
	return map[string]any{"anyOf": all}
}
