// Package order sorts slices of structs with code that all types share.
//
// Each type that slices.SortFunc is compiled for takes 20 KB of the binary: it is for
// large lists, and for types whose code others use already (strings and pointers).
package order

import "sort"

// By sorts a list.
func By[T any](list []T, cmp func(a, b T) int) {
	sort.Slice(list, func(i, j int) bool { return cmp(list[i], list[j]) < 0 })
}

// Stably sorts a list and keeps the order of what is equal.
func Stably[T any](list []T, cmp func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return cmp(list[i], list[j]) < 0 })
}
