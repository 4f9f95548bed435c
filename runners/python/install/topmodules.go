package install

import (
	"slices"
	"strings"

	"coderunner/cache"
	"coderunner/internal/lazyregexp"
)

var plainModule = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]*$`)

// TopModules returns up to a few modules that a package's tree has.
func TopModules(tree string) []string {
	const most = 10
	list, err := cache.ReadDir(tree)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range list {
		name := e.Name()
		if !e.IsDir() {
			name, _, _ = strings.Cut(name, ".")
		}
		if plainModule.MatchString(name) && !slices.Contains(names, name) && len(names) < most {
			names = append(names, name)
		}
	}
	return names
}
