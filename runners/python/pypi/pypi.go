// Package pypi has facts about single PyPI projects: which modules they have, what else
// their functions import, and what to use in their place where they cannot be installed.
//
// projects.toml says what its tables are; it is read when something is first asked.
package pypi

import (
	_ "embed"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed projects.toml
var text []byte

// Facts are the tables of projects.toml, which describes them.
type Facts struct {
	Own           []string
	PythonOnly    []string `toml:"python_only"`
	GeneralExtras []string `toml:"general_extras"`

	Modules    map[string]string
	Namespaces map[string]int
	Removed    map[string]string
	Instead    map[string]string

	Words      map[string]map[string]string
	Submodules map[string]string
	Names      map[string]map[string][]string
	Texts      map[string]map[string]string
	Late       map[string][]string
}

// Known returns all facts. They must not be changed.
var Known = sync.OnceValue(func() *Facts {
	f := new(Facts)
	if err := toml.Unmarshal(text, f); err != nil {
		panic(err) // a test reads them
	}
	return f
})
