package awk

import (
	"coderunner/internal/userland/regex"
)

// node is an expression or a statement. What a, b, c and list are depends on
// op.
type node struct {
	op      string
	text    string
	slot    int // of a variable: global, or local with local set
	local   bool
	value   value
	a, b, c *node
	list    []*node
	body    []*node
	expr    regex.Pattern
	fn      *function
	builtin *builtinFunction
	line    int
}

// function is a function of the program.
type function struct {
	name    string
	params  []string
	body    []*node
	defined bool
	line    int
}

type rule struct {
	from, to *node
	body     []*node // nil with bare set: print
	bare     bool
	active   bool
	line     int
}

// program is a parsed program.
type program struct {
	blocks    map[string][][]*node // of BEGIN, END, and gawk's BEGINFILE and ENDFILE
	rules     []*rule
	functions map[string]*function
	globals   map[string]int
	source    *source
}
