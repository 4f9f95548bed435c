package openapi

import (
	"encoding/json"
	"strings"
)

// schemas makes one JSON Schema of those of an operation and of the components that they
// refer to.
type schemas struct {
	source     *source
	properties map[string]any
	required   []string
	used       map[string]any // components, by name
	nodes      int
}

// add adds a property.
func (c *schemas) add(name string, schema any, description string, required bool) {
	if c.properties[name] != nil {
		return
	}
	at, ok := c.taken(schema).(map[string]any)
	if !ok {
		at = map[string]any{}
	}
	if at["description"] == nil && description != "" {
		at["description"] = description
	}
	c.properties[name] = at
	if required {
		c.required = append(c.required, name)
	}
}

// text returns a schema that was taken, with what it refers to.
func (c *schemas) text(taken any) json.RawMessage {
	at, ok := taken.(map[string]any)
	if ok && len(c.used) > 0 {
		at["$defs"] = c.used
	}
	text, err := json.Marshal(at)
	if err != nil || !ok || c.nodes > maxNodes {
		return nil
	}
	return text
}

const components = "#/components/schemas/"

// taken returns a copy of a part of a schema in which references lead to $defs, and what
// OpenAPI 3.0 has otherwise than JSON Schema is as there.
func (c *schemas) taken(value any) any {
	if c.nodes++; c.nodes > maxNodes {
		return true
	}
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = c.taken(v[i])
		}
		return list
	case map[string]any:
		at := make(map[string]any, len(v))
		for name, each := range v {
			at[name] = c.taken(each)
		}
		if ref, ok := v["$ref"].(string); ok {
			name, known := strings.CutPrefix(ref, components)
			if !known {
				return map[string]any{}
			}
			c.component(unescape(name))
			at["$ref"] = "#/$defs/" + name
		}
		if kind, ok := v["type"].(string); ok && v["nullable"] == true {
			at["type"] = []any{kind, "null"}
		}
		for _, bound := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
			if _, old := v[bound].(bool); old {
				delete(at, bound)
			}
		}
		return at
	}
	return value
}

// component takes a component of the document.
func (c *schemas) component(name string) {
	if _, known := c.used[name]; known {
		return
	}
	c.used[name] = true // while it is read
	var schema any
	if json.Unmarshal(c.source.Components["schemas"][name], &schema) == nil {
		c.used[name] = c.taken(schema)
	}
}
