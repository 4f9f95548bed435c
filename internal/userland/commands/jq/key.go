package jq

import (
	"github.com/itchyny/gojq"
)

// keyError is the error of .key that names the key, which gojq's does not.
type keyError struct{ kind, key string }

func (e *keyError) Error() string { return "Cannot index " + e.kind + ` with string "` + e.key + `"` }

// keyed is the function _keyed: its input, if that may have keys, else the error of one.
func keyed(v any, args []any) any {
	switch v.(type) {
	case nil, map[string]any:
		return v
	}
	key, _ := args[0].(string)
	return &keyError{gojq.TypeOf(v), key}
}

// atKey returns .key with that error: _keyed("key") | .key.
func atKey(key string, i *gojq.Index) *gojq.Query {
	name := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: key}}}
	return pipe(call("_keyed", name), &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIndex, Index: i}})
}

// constant returns the key of .key, ."key" and .["key"].
func constant(i *gojq.Index) (string, bool) {
	switch {
	case i == nil || i.IsSlice:
	case i.Name != "":
		return i.Name, true
	case i.Str != nil:
		return i.Str.Str, i.Str.Queries == nil
	case i.Start != nil && i.Start.Term != nil && i.Start.Term.Str != nil && len(i.Start.Term.SuffixList) == 0:
		return i.Start.Term.Str.Str, i.Start.Term.Str.Queries == nil
	}
	return "", false
}
