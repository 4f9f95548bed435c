package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"coderunner/runners"
)

// maxDoc bounds what a stub has of a tool's description, in bytes.
const maxDoc = 2000

// Signature returns the call of a tool as a line of Python.
func Signature(t runners.Tool) string {
	return t.Name + "(" + strings.Join(parameters(inline(python), t, ""), ", ") + ")"
}

// parameters returns the parameters of a tool in Python.
func parameters(r *renderer, t runners.Tool, name string) (list []string) {
	for _, f := range parse(t.Input).followed().fields() {
		text := Safe(f.name) + ": " + r.typ(f.schema, name+camel(f.name), 1)
		if !f.required {
			text += " = ..."
		}
		list = append(list, text)
	}
	if list != nil {
		list = append([]string{"*"}, list...)
	}
	return list
}

// Stub returns the declarations of a server's tools: in Python for ".pyi", in TypeScript for
// ".d.ts".
func Stub(server string, tools []runners.Tool, ending string) (string, error) {
	switch ending {
	case ".pyi":
		return pythonStub(server, tools), nil
	case ".d.ts":
		return typescriptStub(server, tools), nil
	}
	return "", fmt.Errorf("there are no stubs that end in %q: .pyi or .d.ts", runners.Clip(ending, 20))
}

func pythonStub(server string, tools []runners.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The tools of %s.\nfrom typing import Any, Literal, NotRequired, TypedDict\n", server)
	for _, t := range tools {
		var classes []string
		r := &renderer{language: python}
		r.object = func(name string, fields []field, depth int) string {
			class := classOf(r, name, fields, depth)
			classes = append(classes, class)
			return name
		}
		params := strings.Join(parameters(r, t, camel(t.Name)), ", ")
		result := resultType(r, t, camel(t.Name)+"Result")
		for _, class := range classes {
			b.WriteString("\n" + class)
		}
		fmt.Fprintf(&b, "\ndef %s(%s) -> %s:\n    \"\"\"%s\"\"\"\n", t.Name, params, result,
			strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x00", "").Replace(doc(t, "\n    ")))
	}
	return b.String()
}

// classOf returns a TypedDict.
func classOf(r *renderer, name string, fields []field, depth int) string {
	text, item, end := fmt.Sprintf("class %s(TypedDict):\n", name), "    %s: %s\n", ""
	key := func(name string) string { return name }
	if slices.ContainsFunc(fields, func(f field) bool { return !isName(f.name) }) {
		text, item, end, key = fmt.Sprintf("%s = TypedDict(%q, {\n", name, name), "    %s: %s,\n", "})\n", quote
	}
	for _, f := range fields {
		typ := r.typ(f.schema, name+camel(f.name), depth+1)
		if !f.required {
			typ = "NotRequired[" + typ + "]"
		}
		text += fmt.Sprintf(item, key(f.name), typ)
	}
	return text + end
}

func typescriptStub(server string, tools []runners.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// The tools of %s.\n", server)
	for _, t := range tools {
		r := inline(typescript)
		params, optional := "args?: Record<string, never>", "?"
		if fields := parse(t.Input).followed().fields(); len(fields) > 0 {
			if fields[0].required { // which come first
				optional = ""
			}
			params = "args" + optional + ": " + r.object("", fields, 1)
		}
		fmt.Fprintf(&b, "\n/** %s */\nexport function %s(%s): Promise<%s>;\n", strings.ReplaceAll(doc(t, "\n * "), "*/", "* /"), t.Name, params, resultType(r, t, ""))
	}
	return b.String()
}

func resultType(r *renderer, t runners.Tool, name string) string {
	if t.Output == nil {
		return r.anything
	}
	return r.typ(parse(t.Output), name, 1)
}

// doc returns a tool's description, and what else its author should know.
func doc(t runners.Tool, lineEnd string) string {
	text := strings.TrimSpace(runners.Clip(t.Description, maxDoc))
	if t.Learned {
		text += "\n(The type of the result is that of results so far.)"
	}
	if t.Policy == "ask" {
		text += "\n(The user is asked before each call.)"
	}
	return strings.Join(strings.Split(strings.TrimSpace(text), "\n"), lineEnd)
}

// Describe returns what the author of a program must know of a tool.
func Describe(t runners.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.%s\n", t.Server, Signature(t))
	if t.Name != t.Native {
		fmt.Fprintf(&b, "The server calls it %s.\n", quote(t.Native))
	}
	if text := doc(t, "\n"); text != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	input := parse(t.Input).followed()
	if fields := input.fields(); len(fields) > 0 {
		b.WriteString("\nParameters:\n")
		for _, f := range fields {
			fmt.Fprintf(&b, "  %s: %s", Safe(f.name), inline(python).typ(f.schema, "", 1))
			if value, ok := f.schema.at["default"]; ok {
				fmt.Fprintf(&b, " = %s", runners.Clip(literal(value), 100))
			} else if !f.required {
				b.WriteString(", optional")
			}
			if text, _ := f.schema.followed().at["description"].(string); text != "" {
				b.WriteString(": " + runners.Clip(strings.Join(strings.Fields(text), " "), 300))
			}
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "\nExample: %s.%s(%s)\n", t.Server, t.Name, strings.Join(example(input), ", "))
	switch {
	case t.Output == nil:
		b.WriteString("Result: not described, and none was seen yet\n")
	case t.Learned:
		fmt.Fprintf(&b, "Result, of what was seen so far: %s\n", inline(python).typ(parse(t.Output), "", 1))
	default:
		fmt.Fprintf(&b, "Result: %s\n", inline(python).typ(parse(t.Output), "", 1))
	}
	return b.String()
}

// example returns the arguments of a call with what is required.
func example(s schema) (list []string) {
	for _, f := range s.fields() {
		if f.required {
			list = append(list, Safe(f.name)+"="+literal(sample(f.schema, f.name, 1)))
		}
	}
	return list
}

// sample returns a value that a schema takes.
func sample(s schema, name string, depth int) any {
	s = s.followed()
	for _, keyword := range []string{"examples", "enum"} {
		if list, ok := s.at[keyword].([]any); ok && len(list) > 0 {
			return list[0]
		}
	}
	for _, keyword := range []string{"example", "default", "const"} {
		if value, ok := s.at[keyword]; ok && value != nil {
			return value
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if list := s.list(keyword); len(list) > 0 && depth < maxDepth {
			return sample(list[0], name, depth+1)
		}
	}
	types := s.types()
	switch {
	case len(types) == 0 || depth >= maxDepth:
		return name
	case types[0] == "integer" || types[0] == "number":
		return 1
	case types[0] == "boolean":
		return true
	case types[0] == "array":
		return []any{sample(s.sub(s.at["items"]), strings.TrimSuffix(name, "s"), depth+1)}
	case types[0] == "object":
		object := map[string]any{}
		for _, f := range s.fields() {
			if f.required && len(object) < 10 {
				object[f.name] = sample(f.schema, f.name, depth+1)
			}
		}
		return object
	}
	return name
}

// literal returns a value as Python writes it.
func literal(value any) string {
	text, err := json.Marshal(value)
	if err != nil || len(text) > 500 {
		return "..."
	}
	switch value := value.(type) {
	case bool:
		return map[bool]string{true: "True", false: "False"}[value]
	case nil:
		return "None"
	case []any:
		parts := make([]string, len(value))
		for i := range value {
			parts[i] = literal(value[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, name := range sortedNames(value) {
			parts = append(parts, quote(name)+": "+literal(value[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return string(text)
}

// camel returns a name as that of a class.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(Safe(name), "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
