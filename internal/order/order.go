// Package order sorts slices of structs with code that all types share.
//
// Each type that slices.SortFunc is compiled for takes 20 KB of the binary: it is for
// large lists, and for types whose code others use already (strings and pointers).
package order

import (
	"maps"
	"slices"
	"sort"
)

// By sorts a list.
func By[T any](list []T, cmp func(a, b T) int) {
	sort.Slice(list, func(i, j int) bool { return cmp(list[i], list[j]) < 0 })
}

// Stably sorts a list and keeps the order of what is equal.
func Stably[T any](list []T, cmp func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return cmp(list[i], list[j]) < 0 })
}

// Values returns the values of a map in the order of their keys.
func Values[V any](m map[string]V) []V {
	list := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[key])
	}
	return list
}
