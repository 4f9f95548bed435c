package jq

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/itchyny/gojq"

	"coderunner/internal/lazyregexp"
)

// keyError is the error of .key that names the key, which gojq's does not.
type keyError struct{ kind, key string }

func (e *keyError) Error() string { return "Cannot index " + e.kind + ` with string "` + e.key + `"` }

// at is the function _at: .[key], with that error.
func at(v any, args []any) any {
	key, _ := args[0].(string)
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		return v[key]
	}
	return &keyError{gojq.TypeOf(v), key}
}

// once matches filters whose second run would take or print more.
var once = lazyregexp.New(`\b(inputs?|debug|stderr)\b`)

// naming returns the filter with _at for each constant key, nil if it cannot run again. It
// serves errors alone, since _at makes no paths.
func naming(source string, compile func(*gojq.Query) (*gojq.Code, error)) func() *gojq.Code {
	return sync.OnceValue(func() *gojq.Code {
		query, err := parse(source)
		if err != nil || once.MatchString(source) {
			return nil
		}
		terms(reflect.ValueOf(query), callAt, func(*gojq.Query) {})
		code, err := compile(query)
		if err != nil {
			return nil
		}
		return code
	})
}

// callAt replaces the constant keys of a term.
func callAt(t *gojq.Term) {
	call := func(key string) *gojq.Term {
		arg := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: key}}}
		return &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: "_at", Args: []*gojq.Query{arg}}}
	}
	if t.Object != nil {
		for _, kv := range t.Object.KeyVals {
			if kv.Val == nil && kv.Key != "" && kv.Key[0] != '$' { // {key}
				kv.Val = &gojq.Query{Term: call(kv.Key)}
			}
		}
	}
	if key, ok := constant(t.Index); ok {
		rest := t.SuffixList
		*t = *call(key)
		t.SuffixList = rest
	}
	for {
		i := slices.IndexFunc(t.SuffixList, func(s *gojq.Suffix) bool { _, ok := constant(s.Index); return ok })
		if i < 0 {
			return
		}
		key, _ := constant(t.SuffixList[i].Index)
		inner, rest := *t, t.SuffixList[i+1:]
		inner.SuffixList = t.SuffixList[:i]
		*t = gojq.Term{Type: gojq.TermTypeQuery, SuffixList: rest, Query: pipe(&gojq.Query{Term: &inner}, &gojq.Query{Term: call(key)})}
	}
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

// words returns jq's words for an error of the filter on a value. That of an index that is
// no object's is found with its key by another run.
func (j *run) words(err error, v any) string {
	text := words(err)
	kind, ok := strings.CutSuffix(text, " with string")
	if !ok || j.naming() == nil {
		return text
	}
	iter := j.limits.run(j.naming(), v, j.values)
	for {
		out, more := iter.Next()
		if !more {
			return text
		}
		if err, bad := out.(error); bad {
			if named, ok := errors.AsType[*keyError](err); ok && kind == "Cannot index "+named.kind {
				return named.Error()
			}
			return text
		}
	}
}
