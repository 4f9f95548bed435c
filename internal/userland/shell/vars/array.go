package vars

import (
	"maps"
	"slices"

	"coderunner/internal/order"
)

// Array is an indexed array. at is nil while the indexes are 0, 1, 2, …
//
// A subshell shares the arrays of its parent until one of them writes: an array
// may be written only by the shell that has its token.
type Array struct {
	owner *token
	List  []string
	At    []int
}

// token identifies a shell as the owner of arrays. It has a size, so that no two
// are at one address.
type token struct{ _ byte }

// NewArray returns an array that the shell owns.
func (vs *Vars) NewArray(list []string) *Array { return &Array{owner: vs.token, List: list} }

// Own returns a, or a copy of it that the shell may write.
func (vs *Vars) Own(a *Array) *Array {
	switch {
	case a == nil:
		return vs.NewArray(nil)
	case a.owner == vs.token:
		return a
	}
	return &Array{owner: vs.token, List: slices.Clone(a.List), At: slices.Clone(a.At)}
}

// Find returns the place of an index in the list.
func (a *Array) Find(i int) (int, bool) {
	if a.At == nil {
		return min(i, len(a.List)), i < len(a.List)
	}
	return slices.BinarySearch(a.At, i)
}

// Get returns an element.
func (a *Array) Get(i int) (string, bool) {
	if at, ok := a.Find(i); ok {
		return a.List[at], true
	}
	return "", false
}

// Set makes s the element of an index.
func (a *Array) Set(i int, s string) {
	at, ok := a.Find(i)
	switch {
	case ok:
		a.List[at] = s
	case a.At == nil && i == len(a.List):
		a.List = append(a.List, s)
	default:
		a.sparse()
		a.List = slices.Insert(a.List, at, s)
		a.At = slices.Insert(a.At, at, i)
	}
}

// Remove takes an element out.
func (a *Array) Remove(i int) {
	at, ok := a.Find(i)
	if !ok {
		return
	}
	if a.At != nil || at != len(a.List)-1 {
		a.sparse()
		a.At = slices.Delete(a.At, at, at+1)
	}
	a.List = slices.Delete(a.List, at, at+1)
}

func (a *Array) sparse() {
	if a.At == nil {
		a.At = a.Indexes()
	}
}

// Indexes returns the indexes of the elements, in order.
func (a *Array) Indexes() []int {
	if a.At != nil {
		return a.At
	}
	list := make([]int, len(a.List))
	for i := range list {
		list[i] = i
	}
	return list
}

// Next returns the index behind the last one.
func (a *Array) Next() int {
	if len(a.At) > 0 {
		return a.At[len(a.At)-1] + 1
	}
	return len(a.List)
}

// Table is an associative array.
type Table struct {
	owner   *token
	Entries map[string]string
	order   map[string]int // when a key was added
	last    int
}

// NewTable returns an associative array that the shell owns.
func (vs *Vars) NewTable() *Table {
	return &Table{owner: vs.token, Entries: map[string]string{}, order: map[string]int{}}
}

// OwnTable returns t, or a copy of it that the shell may write.
func (vs *Vars) OwnTable(t *Table) *Table {
	switch {
	case t == nil:
		return vs.NewTable()
	case t.owner == vs.token:
		return t
	}
	return &Table{owner: vs.token, Entries: maps.Clone(t.Entries), order: maps.Clone(t.order), last: t.last}
}

// Set makes s the element of a key.
func (t *Table) Set(key, s string) {
	if _, ok := t.Entries[key]; !ok {
		t.last++
		t.order[key] = t.last
	}
	t.Entries[key] = s
}

// Remove takes the element of a key out.
func (t *Table) Remove(key string) {
	delete(t.Entries, key)
	delete(t.order, key)
}

// Keys returns the keys in the order of bash's hash table, which scripts show:
// by bucket, and in a bucket what was added last comes first.
func (t *Table) Keys() []string {
	const buckets = 1024 // bash's ASSOC_HASH_BUCKETS, which grows fourfold at two entries each
	n := uint32(buckets)
	for len(t.Entries) >= 2*int(n) {
		n *= 4
	}
	type place struct {
		key    string
		bucket uint32
		order  int
	}
	places := make([]place, 0, len(t.Entries))
	for k := range t.Entries {
		places = append(places, place{k, hash(k) & (n - 1), t.order[k]})
	}
	order.By(places, func(a, b place) int {
		if a.bucket != b.bucket {
			return int(a.bucket) - int(b.bucket)
		}
		return b.order - a.order
	})
	keys := make([]string, len(places))
	for i, p := range places {
		keys[i] = p.key
	}
	return keys
}

// hash is bash's hash_string: FNV-1.
func hash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h *= 16777619
		h ^= uint32(s[i])
	}
	return h
}

// Pair is an element to assign. Without a key it follows the one before.
type Pair struct {
	Key, Value string
	Keyed      bool
}
