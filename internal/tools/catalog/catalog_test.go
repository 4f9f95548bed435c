package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coderunner/runners"
)

func TestSafe(t *testing.T) {
	for native, want := range map[string]string{
		"create_issue": "create_issue", "create-issue": "create_issue", "createIssue": "createIssue", "a.b/c": "a_b_c", "__import__": "import_",
		"class": "class_", "None": "None_", "9": "t_9", "": "unnamed", "日本": "unnamed", "a__b": "a_b", strings.Repeat("x", 100): strings.Repeat("x", 64), "new": "new_",
	} {
		if got := Safe(native); got != want {
			t.Errorf("%q: %q, want %q", native, got, want)
		}
	}
	if got := SafeServer("search"); got != "search_" {
		t.Error(got)
	}
	if got := Unique([]string{"a.b", "a_b", "a_b_2", "a b"}, Safe); !slices.Equal(got, []string{"a_b", "a_b_2", "a_b_2_2", "a_b_3"}) {
		t.Error(got)
	}
}

// TestShapes: types of results are learned, and no word of them.
func TestShapes(t *testing.T) {
	for _, tt := range []struct {
		results []string
		want    string
	}{
		{[]string{`{"id": 1, "name": "secret"}`, `{"id": 1.5, "tags": ["secret"]}`}, `{id: float, name?: str, tags?: list[str]}`},
		{[]string{`{"id": 1}`, `{"id": null}`}, `{id: int | None}`},
		{[]string{`[]`, `[1, "secret"]`, `[null]`}, `list[int | str | None]`},
		{[]string{`{"secret@example.com": 1}`}, `dict[str, Any]`},
		{[]string{`{"2026-11-28": 1}`, `{"a": 1}`}, `dict[str, Any]`},
		{[]string{`a secret`, `{"id": 1}`}, `str | {id: int}`},
		{[]string{`{"a": {"b": [{"c": true}]}}`}, `{a: {b: list[{c: bool}]}}`},
	} {
		var s Shapes
		for _, text := range tt.results {
			s.Learn("tool", &runners.ToolResult{Content: []runners.ToolContent{{Type: "text", Text: text}}})
		}
		schema := s.Schema("tool")
		got := inline(python).typ(parse(schema), "", 1)
		if !slices.Equal(words(got), words(tt.want)) || strings.Contains(string(schema), "secret") {
			t.Errorf("%v: %s (%s), want %s", tt.results, got, schema, tt.want)
		}
	}
}

// words returns the members of an object in any order.
func words(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("{}, ", r) })
	slices.Sort(list)
	return list
}

// TestDescribe has a tool with most of what a schema may have.
func TestDescribe(t *testing.T) {
	tool := runners.Tool{Server: "s", Name: "find", Native: "find", Description: "Finds.", Policy: "ask", Input: json.RawMessage(`{
		"type": "object", "required": ["where", "from"], "$defs": {"place": {"type": "object", "properties": {"x": {"type": "number"}, "a-b": {"$ref": "#/$defs/place"}}, "required": ["x"]}},
		"properties": {"where": {"$ref": "#/$defs/place", "description": "The place."}, "from": {"type": "string", "examples": ["now"]}, "kind": {"enum": ["a", 1, true]},
			"many": {"type": ["array", "null"], "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "default": null}, "map": {"type": "object", "additionalProperties": {"type": "boolean"}}, "any": true}}`)}
	const want = `s.find(*, where: {x: float, "a-b"?: Any}, from_: str, any: Any = ..., kind: Literal["a"] | Literal[1] | Literal[True] = ..., many: list[str | int] | None = ..., map: dict[str, bool] = ...)
`
	text := Describe(tool)
	first, rest, _ := strings.Cut(text, "\n")
	if diff := cmp.Diff(want, first+"\n"); diff != "" {
		t.Error(diff)
	}
	for _, line := range []string{"The user is asked before each call.", "  from_: str\n", "any: Any, optional", "many: list[str | int] | None = None", `Example: s.find(where={"x": 1}, from_="now")`, "Result: not described"} {
		if !strings.Contains(rest, line) {
			t.Errorf("no %q in %s", line, rest)
		}
	}
	c := NewChecker(tool)
	if got, err := c.Check(json.RawMessage(`{"where": {"x": 1, "a-b": {"x": 2}}, "from_": "now"}`)); err != nil || !strings.Contains(string(got), `"from":"now"`) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := c.Check(json.RawMessage(`{"where": {"x": 1, "a-b": {}}, "from": "now"}`)); err == nil || !strings.Contains(err.Error(), "x") {
		t.Error(err)
	}
}

func TestSearch(t *testing.T) {
	list := []runners.Tool{
		{Server: "github", Native: "createIssue", Name: "createIssue", Description: "Create a new issue"},
		{Server: "github", Native: "list_issues", Name: "list_issues", Description: "Lists issues of a repository"},
		{Server: "files", Native: "create_directory", Name: "create_directory", Description: "Makes a directory; not for issues"},
	}
	for words, want := range map[string]string{"create issue": "createIssue", "issues": "list_issues", "directory": "create_directory", "github": "createIssue", "nothing": "", "": ""} {
		got := ""
		if found := Search(list, words); len(found) > 0 {
			got = found[0].Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// FuzzTool: no schema of a server stops us or makes us say without end.
func FuzzTool(f *testing.F) {
	for _, seed := range []string{
		`{"$ref": "#"}`, `{"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}, "required": ["a", "a", 1]}`, `{"anyOf": [{"$ref": "#"}, {"items": {"$ref": "#"}}]}`,
		`{"properties": {"a\"\\\n": {"enum": [[], {}, null, "*/", "\"\"\""]}}}`, `{"type": ["array", "object"], "items": [1], "properties": 1}`, `{"not": {"not": {"$dynamicRef": "#x"}}}`,
	} {
		f.Add([]byte(seed), []byte(`{"a": [1, {"a": null}]}`))
	}
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		if !json.Valid(schema) {
			return
		}
		tool := runners.Tool{Server: "s", Name: "t", Native: "t", Input: schema, Output: schema}
		all := Describe(tool)
		for _, ending := range []string{".pyi", ".d.ts"} {
			text, err := Stub("s", []runners.Tool{tool}, ending)
			if err != nil {
				t.Error(err)
			}
			all += text
		}
		if len(all) > 1<<20+20*maxNodes*len(schema) {
			t.Errorf("%d bytes of %d", len(all), len(schema))
		}
		_, _ = NewChecker(tool).Check(arguments)
		var s Shapes
		for range 2 {
			s.Learn("t", &runners.ToolResult{Structured: schema})
			s.Learn("t", &runners.ToolResult{Structured: arguments})
		}
	})
}

// FuzzShapes has a file of shapes that is damaged.
func FuzzShapes(f *testing.F) {
	f.Add([]byte(`{"t": {"type": "object", "properties": {"a": 1}, "required": [1]}}`), []byte(`{"a": {"b": [1, "x"]}}`))
	f.Add([]byte(`{"t": {"anyOf": [1, {"type": "string"}]}}`), []byte(`[1]`))
	f.Fuzz(func(t *testing.T, file, result []byte) {
		var s Shapes
		s.Load(file)
		s.Learn("t", &runners.ToolResult{Structured: result})
		if schema := s.Schema("t"); schema != nil && !json.Valid(schema) {
			t.Errorf("%s", schema)
		}
		Describe(runners.Tool{Output: s.Schema("t")})
	})
}
