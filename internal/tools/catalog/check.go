package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"coderunner/runners"
)

// Checker checks arguments before a call.
type Checker struct {
	tool     runners.Tool
	fields   []field
	closed   bool                 // no other names than those of fields
	resolved *jsonschema.Resolved // nil: the schema is not one that can be checked, and the server checks
	steps    int                  // that each value may cost
}

// NewChecker returns the checker of a tool.
func NewChecker(t runners.Tool) *Checker {
	s := parse(t.Input).followed()
	c := &Checker{tool: t, fields: s.fields()}
	_, named := s.at["properties"].(map[string]any)
	c.closed = named && len(c.fields) < maxFields
	for _, keyword := range []string{"additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"} {
		c.closed = c.closed && (s.at[keyword] == nil || s.at[keyword] == false)
	}
	walk := walker{schema: s}
	if c.steps = walk.cost(s.root, 0); walk.endless {
		return c
	}
	plain := maps.Clone(s.root)
	delete(plain, "$schema") // draft 4 is not known, and refers as the others do
	delete(plain, "$id")
	text, err := json.Marshal(plain)
	var js jsonschema.Schema
	if err == nil && json.Unmarshal(text, &js) == nil {
		c.resolved, _ = js.Resolve(nil)
	}
	return c
}

// maxChecked bounds the work of one check.
const maxChecked = 50_000_000

// Check returns the arguments under the names that the server has. The error is a
// *[runners.ToolError] with the signature.
func (c *Checker) Check(arguments json.RawMessage) (json.RawMessage, error) {
	bad := func(format string, args ...any) (json.RawMessage, error) {
		return nil, &runners.ToolError{Code: "bad_arguments", Message: runners.Clip(fmt.Sprintf(format, args...), 500) + "; it is " + c.tool.Server + "." + runners.Clip(Signature(c.tool), 1000)}
	}
	var values map[string]any
	if err := json.Unmarshal(arguments, &values); err != nil || values == nil {
		return bad("the arguments are not an object")
	}
	renamed := false
	for _, name := range sortedNames(values) {
		if slices.ContainsFunc(c.fields, func(f field) bool { return f.name == name }) {
			continue
		}
		i := slices.IndexFunc(c.fields, func(f field) bool { return Safe(f.name) == name })
		if i >= 0 && values[c.fields[i].name] == nil {
			values[c.fields[i].name], renamed = values[name], true
			delete(values, name)
		} else if c.closed {
			return bad("there is no parameter %q", runners.Clip(name, 100))
		}
	}
	for _, f := range c.fields {
		if _, ok := values[f.name]; f.required && !ok {
			return bad("%s is missing", Safe(f.name))
		}
	}
	if c.resolved != nil && len(arguments)*c.steps < maxChecked {
		if err := c.resolved.Validate(values); err != nil {
			text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "validating root: "), "validating ")
			return bad("%s", strings.ReplaceAll(text, "/properties/", ""))
		}
	}
	if !renamed {
		return arguments, nil
	}
	return json.Marshal(values)
}

// walker estimates what a schema costs.
type walker struct {
	schema  schema
	endless bool
	steps   int
}

// maxSteps bounds the schemas that apply to one value.
const maxSteps = 2000

// cost counts the schemas below one, and finds those that lead to themselves without going
// into the value, which a validator would follow for ever.
func (w *walker) cost(value any, depth int) int {
	total := 1
	switch v := value.(type) {
	case map[string]any:
		w.steps = 0
		w.follow(v, 0)
		total += w.steps
		for _, each := range v {
			total += w.cost(each, depth+1)
		}
	case []any:
		for _, each := range v {
			total += w.cost(each, depth+1)
		}
	}
	return total
}

// follow visits the schemas that apply to the same value as one.
func (w *walker) follow(at map[string]any, depth int) {
	// Dynamic references are not followed here.
	if w.steps++; w.steps > maxSteps || depth > 50 || at["$dynamicRef"] != nil || at["$recursiveRef"] != nil {
		w.endless = true
	}
	below := []any{at["not"], at["if"], at["then"], at["else"]}
	if ref, ok := at["$ref"].(string); ok {
		to, known := w.schema.pointer(ref)
		w.endless, below = w.endless || !known, append(below, to)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := at[keyword].([]any)
		w.endless, below = w.endless || len(list) > maxFields, append(below, list...)
	}
	table, _ := at["dependentSchemas"].(map[string]any)
	for _, each := range slices.AppendSeq(below, maps.Values(table)) {
		if each, ok := each.(map[string]any); ok && !w.endless {
			w.follow(each, depth+1)
		}
	}
}
