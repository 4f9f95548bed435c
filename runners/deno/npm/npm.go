// Package npm has what is known of single packages of npm: which versions programs mean,
// what they load by names in a program's text, and what does the same where they cannot
// be used.
//
// packages.toml says what its tables are; it is read when something is first asked.
package npm

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed packages.toml
var text []byte

// Facts are the tables of packages.toml, which describes them.
type Facts struct {
	WellKnown   []string `toml:"well_known"`
	Majors      map[string]string
	PureMajors  map[string]string `toml:"pure_majors"`
	Substitutes map[string]string
	Twins       map[string]int
	Standard    map[string]string
	Companions  []Companion `toml:"companion"`
	Natives     []Native    `toml:"native"`
}

// Companion is a package that another one loads.
type Companion struct{ Of, Text, Name string }

// Native is what does without the machine code of some packages.
type Native struct {
	Names   []string
	Instead string
}

// Like reports whether a package's name has one of the words.
func (n Native) Like(name string) bool {
	return slices.ContainsFunc(n.Names, func(word string) bool { return strings.Contains(name, word) })
}

// Known returns all facts. They must not be changed.
var Known = sync.OnceValue(func() *Facts {
	f := new(Facts)
	if err := toml.Unmarshal(text, f); err != nil {
		panic(err) // a test reads them
	}
	return f
})
