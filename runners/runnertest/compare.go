package runnertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

// Check lists how an outcome differs from what the case wants in a language.
func (c *Case) Check(l runners.Language, out *runners.Outcome) ([]string, error) {
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("marshal outcome: %w", err)
	}
	got, err := decode(string(raw))
	if err != nil {
		return nil, err
	}
	return c.Compare(l, got)
}

// Compare lists how an outcome, as the JSON of an object, differs from what the
// case wants in a language.
func (c *Case) Compare(l runners.Language, outcome any) ([]string, error) {
	want, err := c.want(l)
	return compare("", outcome, want), err
}

// compare lists the differences, each with its path.
func compare(path string, got, want any) []string {
	differs := func() []string {
		return []string{fmt.Sprintf("%s is %s, want %s", strings.TrimPrefix(path, "."), show(got), show(want))}
	}
	switch want := want.(type) {
	case map[string]any:
		if isMatcher(want) {
			if !matches(got, want) {
				return differs()
			}
			return nil
		}
		obj, ok := got.(map[string]any)
		if !ok {
			return differs()
		}
		var all []string
		for _, k := range slices.Sorted(maps.Keys(want)) {
			all = append(all, compare(path+"."+k, obj[k], want[k])...)
		}
		return all
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return differs()
		}
		var all []string
		for i := range want {
			all = append(all, compare(fmt.Sprintf("%s[%d]", path, i), list[i], want[i])...)
		}
		return all
	case string:
		if want == "*" && got != nil {
			return nil
		}
		text, ok := got.(string)
		if expr, isRegexp := strings.CutPrefix(want, "/"); isRegexp && strings.HasSuffix(expr, "/") && len(expr) > 1 {
			if !regexp.MustCompile("(?s)"+strings.TrimSuffix(expr, "/")).MatchString(text) || !ok {
				return differs()
			}
			return nil
		}
		if text != want || !ok {
			return differs()
		}
		return nil
	default: // null, true, false, json.Number
		if got != want {
			return differs()
		}
		return nil
	}
}

// matches looks for texts: {"contains": "a"}, {"contains": ["a", "b"]} for
// both, {"not": …} for none.
func matches(got any, want map[string]any) bool {
	text, ok := got.(string)
	if !ok {
		return false
	}
	for _, s := range texts(want["contains"]) {
		if !strings.Contains(text, s) {
			return false
		}
	}
	return !slices.ContainsFunc(texts(want["not"]), func(s string) bool { return strings.Contains(text, s) })
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				panic(fmt.Sprintf("runnertest: %v is not a text to look for", e))
			}
			out = append(out, s)
		}
		return out
	}
	return nil
}

// show writes a value for a message, cut where it is long.
func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const max = 4000
	if len(raw) > max {
		return fmt.Sprintf("%s … (%d bytes)", raw[:max], len(raw))
	}
	return string(raw)
}
