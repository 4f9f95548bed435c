package npm

import (
	"maps"
	"slices"
	"strings"
)

// Exported returns the target of "." or "./path" in what a manifest exports.
func Exported(exports any, sub string) (target string, ok bool) {
	all, _ := exports.(map[string]any)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(k string) bool { return strings.HasPrefix(k, ".") }) {
		target = Condition(exports)
		return target, sub == "." && target != ""
	}
	if target = Condition(all[sub]); target != "" {
		return target, true
	}
	best := ""
	for key, value := range all {
		prefix, suffix, wild := strings.Cut(key, "*")
		if !wild || len(sub) < len(prefix)+len(suffix) || !strings.HasPrefix(sub, prefix) || !strings.HasSuffix(sub, suffix) || len(prefix) < len(best) {
			continue
		}
		if to := Condition(value); to != "" {
			best, target = prefix, strings.ReplaceAll(to, "*", sub[len(prefix):len(sub)-len(suffix)])
		}
	}
	return target, target != ""
}

// conditions are Deno's, in the order in which they are tried: that of a manifest is lost.
var conditions = []string{"deno", "node", "import", "module", "default", "require"}

// Condition returns the address of a value in exports or imports by conditions.
func Condition(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		for _, one := range v {
			if s := Condition(one); s != "" {
				return s
			}
		}
	case map[string]any:
		for _, name := range conditions {
			if s := Condition(v[name]); s != "" {
				return s
			}
		}
	}
	return ""
}
