package jsparse

// analysis follows the tokens of a file.
type analysis struct {
	s     *scanner
	p     *Program
	prev  token // the last three tokens, the newest first
	prev2 token
	prev3 token

	first  statement // the first statement
	last   statement
	begin  bool // a semicolon ended the last statement
	meta   bool // import.meta.main is used
	esm    bool // it can only be a module: it imports, exports or awaits
	awaits bool // it awaits at the top level
	linked bool // it has import or export: not by every await does Deno tell a module

	called string // the string after import( or require(
	caller string // import or require
	plain  bool   // the last token imports JSON without saying so

	clause   []token // the static import that is being read
	commonJS commonJS
	field    field
	tests    framework
	session  *session // nil unless it is a session's program
	mocking  *mocking // nil unless it may replace modules
}

// statement is a statement at the top level.
type statement struct {
	start, end int // the end without semicolons
	first      token
	second     token
	call       string // the method of that name is called last
	sets       bool   // it assigns to a member
	value      bool   // it has something outside of brackets that no block has
}

// form adds an edit without which Deno cannot read the file.
func (a *analysis) form(offset int, text string) {
	a.p.edits = append(a.p.edits, edit{offset: offset, text: text, form: true})
}

// insert adds an edit that removes nothing.
func (a *analysis) insert(offset int, text string) {
	a.p.edits = append(a.p.edits, edit{offset: offset, text: text})
}

// session makes of a module a script for V8's REPL mode, in which the names of the
// top level live on and may be declared again, but only in the same way. So const,
// functions and, where it can be told, var become let; imports become dynamic, and
// nothing is exported. See RATIONALE.md of runners/deno.
type session struct {
	object    string         // by which it imports
	statement []token        // of the top-level statement that is being read
	functions []string       // the names of the top level
	vars      map[string]int // names → how often they are declared by var
	lets      []lets
}

// lets is a var of the top level that may become let.
type lets struct {
	keyword token
	name    string // "" if it is a pattern
}

// field follows a decorated field of a class. TypeScript's compiler before the
// standard decorators did not define fields that have no value, so that what their
// decorators define on the prototype is found. Deno does, unless they are declared.
type field struct {
	state fieldState
	depth int // of the class's members
	at    int // where "declare" belongs
}

type fieldState byte
