// Package catalog turns tools, as servers describe them, into what programs and their
// authors see: names, signatures, stubs, an index of words, checks of arguments, and the
// shapes of results seen so far.
//
// It is pure: it starts no server and knows no policy. All that it reads was written by
// servers that may lie, and is bounded in depth and number.
package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// maxSafe is how long a name may be that programs use, in bytes.
const maxSafe = 64

// reserved has the words that cannot be names in Python or in JavaScript, between spaces.
const reserved = " False None True and as assert async await break class continue def del elif else except finally for from global if " +
	"import in is lambda nonlocal not or pass raise return try while with yield " +
	"arguments case catch const debugger default delete do enum eval export extends false function implements instanceof " +
	"interface let new null package private protected public static super switch this throw true typeof var void "

// modules are names in the module tools itself, which no server may have.
var modules = []string{"search", "describe", "list", "servers", "call", "read", "stub", "help", "me", "tool", "tools", "ToolError", "Tool", "ToolResult", "Blob", "Link"}

// Safe returns the name by which programs use a tool or a parameter: letters, digits and
// single underscores in place of all else, none at either end, "t_" before a digit, and an
// underscore behind what is a word of Python or JavaScript.
func Safe(native string) string {
	name := strings.Join(strings.FieldsFunc(native, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}), "_")
	name = strings.Trim(name[:min(len(name), maxSafe)], "_")
	switch {
	case name == "":
		return "unnamed"
	case name[0] >= '0' && name[0] <= '9':
		return "t_" + name
	case strings.Contains(reserved, " "+name+" "):
		return name + "_"
	}
	return name
}

// SafeServer is Safe for the name of a server.
func SafeServer(native string) string {
	name := Safe(native)
	if slices.Contains(modules, name) {
		name += "_"
	}
	return name
}

// Unique returns the safe names of a list, in which those that come later get a number if their
// name is taken.
func Unique[T any](list []T, safe func(T) string) (names []string) {
	taken := map[string]bool{}
	for _, each := range list {
		name := safe(each)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", safe(each), n)
		}
		taken[name] = true
		names = append(names, name)
	}
	return names
}

// isName reports whether a name is one as it is.
func isName(name string) bool {
	return name != "" && !strings.HasPrefix(name, "t_") && Safe(name) == name
}
