package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// language is how types are written.
type language struct {
	types       map[string]string // but for those of lists and objects
	anything    string
	list, table string // formats
	literal     func(text string, value any) string
}

var python = language{
	types:    map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"},
	anything: "Any", list: "list[%s]", table: "dict[str, %s]",
	literal: func(_ string, value any) string {
		if value == nil {
			return "None"
		}
		return "Literal[" + literal(value) + "]"
	},
}

var typescript = language{
	types:    map[string]string{"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"},
	anything: "unknown", list: "Array<%s>", table: "Record<string, %s>",
	literal: func(text string, _ any) string { return text },
}

// renderer writes the types of one stub or description.
type renderer struct {
	language
	object func(name string, fields []field, depth int) string
	nodes  int             // written so far
	open   map[string]bool // references that are being followed, which are not followed again
}

// maxNodes bounds the types of one declaration: a schema may double at each of its levels.
const maxNodes = 500

// typ returns the type of a schema. The name is for an object without one.
func (r *renderer) typ(s schema, name string, depth int) string {
	if ref, ok := s.at["$ref"].(string); ok {
		if r.open[ref] {
			return r.anything
		}
		if r.open == nil {
			r.open = map[string]bool{}
		}
		r.open[ref] = true
		defer delete(r.open, ref)
	}
	s = s.followed()
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return r.anything
	}
	if value, ok := s.at["const"]; ok {
		return r.literals([]any{value})
	}
	if values, ok := s.at["enum"].([]any); ok && len(values) > 0 && len(values) <= maxEnum {
		return r.literals(values)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if list := s.list(keyword); len(list) > 0 && (keyword != "allOf" || len(list) == 1) {
			var all []string
			for i, each := range list {
				part := name
				if i > 0 {
					part = fmt.Sprintf("%s%d", name, i+1)
				}
				all = append(all, r.typ(each, part, depth+1))
			}
			return r.union(all)
		}
	}
	var all []string
	for _, t := range s.types() {
		all = append(all, r.one(s, t, name, depth))
	}
	return r.union(all)
}

// one returns the type of a schema as one of the types that it may have.
func (r *renderer) one(s schema, t, name string, depth int) string {
	switch t {
	case "array":
		return fmt.Sprintf(r.list, r.typ(s.sub(s.at["items"]), name+"Item", depth+1))
	case "object":
		if fields := s.fields(); len(fields) > 0 {
			return r.object(name, fields, depth)
		}
		return fmt.Sprintf(r.table, r.typ(s.sub(s.at["additionalProperties"]), name+"Value", depth+1))
	}
	return cmp.Or(r.types[t], r.anything)
}

func (r *renderer) union(all []string) string {
	var unique []string
	for _, t := range all {
		if t == r.anything {
			return t
		}
		if !slices.Contains(unique, t) {
			unique = append(unique, t)
		}
	}
	if unique == nil {
		return r.anything
	}
	return strings.Join(unique, " | ")
}

func (r *renderer) literals(values []any) string {
	var all []string
	for _, v := range values {
		text, err := json.Marshal(v)
		if _, isList := v.([]any); err != nil || isList || len(text) > 100 || len(text) > 0 && text[0] == '{' {
			return r.anything
		}
		all = append(all, r.literal(string(text), v))
	}
	return r.union(all)
}

// inline is a renderer whose objects are written where they are.
func inline(l language) *renderer {
	r := &renderer{language: l}
	r.object = func(name string, fields []field, depth int) string {
		var parts []string
		for _, f := range fields {
			key := f.name
			if !isName(key) {
				key = quote(key)
			}
			if !f.required {
				key += "?"
			}
			parts = append(parts, key+": "+r.typ(f.schema, name, depth+1))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return r
}

func quote(text string) string {
	quoted, _ := json.Marshal(text) // a string cannot fail
	return string(quoted)
}
