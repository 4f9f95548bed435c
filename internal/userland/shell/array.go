package shell

import (
	"maps"
	"slices"
)

// array is an indexed array. at is nil while the indexes are 0, 1, 2, …
//
// A subshell shares the arrays of its parent until one of them writes: an array
// may be written only by the shell that has its token.
type array struct {
	owner *token
	list  []string
	at    []int
}

// token identifies a shell as the owner of arrays. It has a size, so that no two
// are at one address.
type token struct{ _ byte }

// newArray returns an array that the shell owns.
func (sh *shell) newArray(list []string) *array { return &array{owner: sh.token, list: list} }

// own returns a, or a copy of it that the shell may write.
func (sh *shell) own(a *array) *array {
	switch {
	case a == nil:
		return sh.newArray(nil)
	case a.owner == sh.token:
		return a
	}
	return &array{owner: sh.token, list: slices.Clone(a.list), at: slices.Clone(a.at)}
}

// find returns the place of an index in the list.
func (a *array) find(i int) (int, bool) {
	if a.at == nil {
		return min(i, len(a.list)), i < len(a.list)
	}
	return slices.BinarySearch(a.at, i)
}

func (a *array) get(i int) (string, bool) {
	if at, ok := a.find(i); ok {
		return a.list[at], true
	}
	return "", false
}

func (a *array) set(i int, s string) {
	at, ok := a.find(i)
	switch {
	case ok:
		a.list[at] = s
	case a.at == nil && i == len(a.list):
		a.list = append(a.list, s)
	default:
		a.sparse()
		a.list = slices.Insert(a.list, at, s)
		a.at = slices.Insert(a.at, at, i)
	}
}

func (a *array) remove(i int) {
	at, ok := a.find(i)
	if !ok {
		return
	}
	if a.at != nil || at != len(a.list)-1 {
		a.sparse()
		a.at = slices.Delete(a.at, at, at+1)
	}
	a.list = slices.Delete(a.list, at, at+1)
}

func (a *array) sparse() {
	if a.at == nil {
		a.at = a.indexes()
	}
}

func (a *array) indexes() []int {
	if a.at != nil {
		return a.at
	}
	list := make([]int, len(a.list))
	for i := range list {
		list[i] = i
	}
	return list
}

// next returns the index behind the last one.
func (a *array) next() int {
	if len(a.at) > 0 {
		return a.at[len(a.at)-1] + 1
	}
	return len(a.list)
}

// table is an associative array.
type table struct {
	owner   *token
	entries map[string]string
	order   map[string]int // when a key was added
	last    int
}

func (sh *shell) newTable() *table {
	return &table{owner: sh.token, entries: map[string]string{}, order: map[string]int{}}
}

func (sh *shell) ownTable(t *table) *table {
	switch {
	case t == nil:
		return sh.newTable()
	case t.owner == sh.token:
		return t
	}
	return &table{owner: sh.token, entries: maps.Clone(t.entries), order: maps.Clone(t.order), last: t.last}
}

func (t *table) set(key, s string) {
	if _, ok := t.entries[key]; !ok {
		t.last++
		t.order[key] = t.last
	}
	t.entries[key] = s
}

func (t *table) remove(key string) {
	delete(t.entries, key)
	delete(t.order, key)
}

// keys returns the keys in the order of bash's hash table, which scripts show:
// by bucket, and in a bucket what was added last comes first.
func (t *table) keys() []string {
	const buckets = 1024 // bash's ASSOC_HASH_BUCKETS, which grows fourfold at two entries each
	n := uint32(buckets)
	for len(t.entries) >= 2*int(n) {
		n *= 4
	}
	type place struct {
		key    string
		bucket uint32
		order  int
	}
	places := make([]place, 0, len(t.entries))
	for k := range t.entries {
		places = append(places, place{k, hash(k) & (n - 1), t.order[k]})
	}
	slices.SortFunc(places, func(a, b place) int {
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

// pair is an element to assign. Without a key it follows the one before.
type pair struct {
	key, value string
	keyed      bool
}
