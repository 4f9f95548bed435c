package commands

// awkNode is an expression or a statement. What a, b, c and list are depends on
// op.
type awkNode struct {
	op      string
	text    string
	slot    int // of a variable: global, or local with local set
	local   bool
	value   awkValue
	a, b, c *awkNode
	list    []*awkNode
	body    []*awkNode
	expr    pattern
	fn      *awkFunction
	builtin *awkBuiltinFunction
	line    int
}

// awkFunction is a function of the program.
type awkFunction struct {
	name    string
	params  []string
	body    []*awkNode
	defined bool
	line    int
}

type awkRule struct {
	from, to *awkNode
	body     []*awkNode // nil with bare set: print
	bare     bool
	active   bool
}

// awkProgram is a parsed program.
type awkProgram struct {
	begin, end [][]*awkNode
	rules      []*awkRule
	functions  map[string]*awkFunction
	globals    map[string]int
}
