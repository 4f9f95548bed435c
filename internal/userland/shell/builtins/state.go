package builtins

import (
	"coderunner/internal/userland/shell/parse"
	"maps"
	"time"
)

// State is what builtins keep in a shell.
type State struct {
	Zero      string // $0
	Params    []string
	Aliases   map[string]string
	Functions map[string]*parse.Function
	Disabled  map[string]bool // builtins, by enable -n
	Began     time.Time       // when SECONDS was 0
	getopts   getoptsState
}

// NewState returns that of a new shell.
func NewState() State {
	return State{
		Zero: "bash", Aliases: map[string]string{}, Functions: map[string]*parse.Function{}, Disabled: map[string]bool{},
		Began: time.Now(), getopts: getoptsState{index: 1},
	}
}

// Fork returns that of a subshell.
func (s *State) Fork() State {
	c := *s
	c.Aliases, c.Functions, c.Disabled = maps.Clone(s.Aliases), maps.Clone(s.Functions), maps.Clone(s.Disabled)
	return c
}

// SetOptind has getopts begin at a parameter.
func (s *State) SetOptind(n int) { s.getopts = getoptsState{index: n} }

// getoptsState is where getopts is in an argument.
type getoptsState struct {
	index int // OPTIND as it was left
	at    int // in the argument, behind its dash
}
