// Package npm has facts about single npm packages: which versions programs expect, what they
// load by names in a program's text, and what to use in their place where they do not work.
//
// packages.toml explains its tables; it is read at the first question.
package npm

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"coderunner/internal/lazyregexp"

	"github.com/pelletier/go-toml/v2"
)

//go:embed packages.toml
var text []byte

// Facts are the tables of packages.toml, which describes them.
type Facts struct {
	Majors      map[string]string
	PureMajors  map[string]string `toml:"pure_majors"`
	Substitutes map[string]string
	Twins       map[string]int
	Companions  []Companion `toml:"companion"`
	Natives     []Native    `toml:"native"`
	Unloaded    []string
	Drivers     []string
}

// Companion is a package that another one loads.
type Companion struct {
	Of, Text, Name string

	expr *lazyregexp.Regexp // Text
}

// In returns the packages that a program's text names, at most n.
func (c Companion) In(source string, n int) (names []string) {
	for _, found := range c.expr.FindAllStringSubmatch(source, n) {
		names = append(names, cmp.Or(c.Name, found[len(found)-1]))
	}
	return names
}

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
	for n := range f.Companions {
		f.Companions[n].expr = lazyregexp.New(f.Companions[n].Text)
	}
	return f
})
