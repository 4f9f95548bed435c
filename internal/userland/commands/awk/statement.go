package awk

import "errors"

// flow is where a program goes after a statement.
type flow int

const (
	onward flow = iota // to the next statement
	broken
	continued
	nextRecord
	nextFile
	returned
	exited
)

// misplaced are the messages for statements outside of what they are for.
var misplaced = map[flow]string{
	broken:     "`break' is not allowed outside a loop or switch",
	continued:  "`continue' is not allowed outside a loop",
	nextRecord: "`next' used in BEGIN or END action",
	nextFile:   "`nextfile' used in BEGIN or END action",
}

// left is thrown where a function that an expression calls leaves more than itself.
type left struct{ to flow }

func (l left) Error() string { return misplaced[l.to] }

// top runs statements outside of all others and returns where they go, also from within
// a function.
func (r *run) top(f func() flow) (went flow) {
	transient := r.transient
	err := r.c.Catch(func() { went = f() })
	if l := (left{}); errors.As(err, &l) {
		r.frame, r.transient = nil, transient
		return l.to
	}
	r.c.Check(err)
	return went
}

// block runs statements.
func (r *run) block(list []*node) flow {
	for _, n := range list {
		if went := r.statement(n); went != onward {
			return went
		}
	}
	return onward
}

// tick looks now and then whether the program should end.
func (r *run) tick() {
	if r.steps++; r.steps&0x3ff == 0 {
		r.c.Proceed()
	}
}

// frame is what a level of statements or of expressions takes of the stack at most,
// twice: the frames of the functions between a statement and one inside of it.
const frame = 2 << 10

// statement runs a statement. What its expressions have made is gone at its end.
func (r *run) statement(n *node) flow {
	r.enter()
	transient := r.transient
	went := r.execute(n)
	r.transient = transient
	r.c.Leave(frame)
	return went
}

func (r *run) execute(n *node) flow {
	r.place = n.line
	switch n.op {
	case "expr":
		r.eval(n.a)
	case "print", "printf":
		r.print(n)
	case "if":
		if r.eval(n.a).truth() {
			return r.block(n.body)
		}
		return r.block(n.list)
	case "block":
		return r.block(n.body)
	case "while", "do", "for":
		return r.loop(n)
	case "forin":
		return r.forIn(n)
	case "switch":
		return r.choose(n)
	case "next":
		return nextRecord
	case "nextfile":
		return nextFile
	case "break":
		return broken
	case "continue":
		return continued
	case "delete":
		r.remove(n)
	case "return":
		if n.a != nil {
			r.ret = r.eval(n.a)
		}
		return returned
	case "exit":
		if n.a != nil {
			r.status = int(r.eval(n.a).num()) & 0xff
		}
		return exited
	}
	return onward
}

func (r *run) loop(n *node) flow {
	if n.op == "for" && n.list != nil {
		r.statement(n.list[0])
	}
	transient := r.transient
	for first := true; ; first = false {
		r.transient = transient
		r.tick()
		if n.a != nil && (n.op != "do" || !first) && !r.eval(n.a).truth() {
			return onward
		}
		if went, ends := r.round(n.body); ends {
			return went
		}
		if n.op == "for" && n.b != nil {
			r.statement(n.b)
		}
	}
}

// round runs a loop's body once, and reports whether the loop ends and where the program
// goes then.
func (r *run) round(body []*node) (went flow, ends bool) {
	switch went := r.block(body); went {
	case onward, continued:
		return onward, false
	case broken:
		return onward, true
	default:
		return went, true
	}
}

func (r *run) forIn(n *node) flow {
	arr := r.arrayOf(n.b)
	r.room(16 * len(arr.m))
	keys := arr.list()
	if e := r.globals[varPROCINFO].arr().m["sorted_in"]; e != nil {
		r.sortKeys(e.v.str(r.convfmt), arr, keys)
	}
	for _, k := range keys {
		if !arr.has(k) {
			continue
		}
		r.tick()
		r.assign(n.a, value{kind: input, s: k})
		if went, ends := r.round(n.body); ends {
			return went
		}
	}
	return onward
}

func (r *run) choose(n *node) flow {
	v := r.eval(n.a)
	matches := func(c *node) bool {
		if c.a.op == "regex" {
			return r.match(r.literal(c.a), v.str(r.convfmt)).truth()
		}
		return r.compare(v, r.eval(c.a)) == 0
	}
	at := -1
	for i, c := range n.list {
		if c.op == "default" {
			if at < 0 {
				at = i
			}
		} else if matches(c) {
			at = i
			break
		}
	}
	if at < 0 {
		return onward
	}
	for _, c := range n.list[at:] {
		if went := r.block(c.body); went == broken {
			return onward
		} else if went != onward {
			return went
		}
	}
	return onward
}

func (r *run) remove(n *node) {
	arr := r.arrayOf(n.a)
	if n.list == nil {
		r.empty(arr)
		return
	}
	key := r.subscript(n.list)
	if e := arr.m[key]; e != nil {
		r.forget(key, e)
		delete(arr.m, key)
	}
}
