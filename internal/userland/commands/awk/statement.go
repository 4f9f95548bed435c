package awk

import (
	"coderunner/internal/userland/commands/command"
)

// block runs statements.
func (r *run) block(list []*node) error {
	for _, n := range list {
		if err := r.statement(n); err != nil {
			return err
		}
	}
	return nil
}

// tick looks now and then whether the program should end.
func (r *run) tick() error {
	if r.steps++; r.steps&0x3ff == 0 && r.c.Stopped() {
		return command.ErrStopped
	}
	return nil
}

// frame is what a level of statements or of expressions takes of the stack at most,
// twice: the frames of the functions between a statement and one inside of it.
const frame = 2 << 10

// statement runs a statement. What its expressions have made is gone at its end.
func (r *run) statement(n *node) error {
	if err := r.c.Enter(frame); err != nil {
		return err
	}
	transient := r.transient
	err := r.execute(n)
	r.transient = transient
	r.c.Leave(frame)
	return err
}

func (r *run) execute(n *node) error {
	r.place = n.line
	switch n.op {
	case "expr":
		_, err := r.eval(n.a)
		return err
	case "print", "printf":
		return r.print(n)
	case "if":
		v, err := r.eval(n.a)
		if err != nil {
			return err
		}
		if v.truth() {
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
		return errNext
	case "nextfile":
		return errNextFile
	case "break":
		return errBreak
	case "continue":
		return errContinue
	case "delete":
		return r.remove(n)
	}
	// exit and return
	v := value{}
	if n.a != nil {
		var err error
		if v, err = r.eval(n.a); err != nil {
			return err
		}
	}
	if n.op == "return" {
		r.ret = v
		return errReturn
	}
	return &exitError{int(v.num()) & 0xff}
}

func (r *run) loop(n *node) error {
	if n.op == "for" && n.list != nil {
		if err := r.statement(n.list[0]); err != nil {
			return err
		}
	}
	transient := r.transient
	for first := true; ; first = false {
		r.transient = transient
		if err := r.tick(); err != nil {
			return err
		}
		if n.a != nil && (n.op != "do" || !first) {
			v, err := r.eval(n.a)
			if err != nil || !v.truth() {
				return err
			}
		}
		if left, err := r.round(n.body); left || err != nil {
			return err
		}
		if n.op == "for" && n.b != nil {
			if err := r.statement(n.b); err != nil {
				return err
			}
		}
	}
}

// round runs a loop's body once, and reports whether it left the loop.
func (r *run) round(body []*node) (left bool, err error) {
	switch err := r.block(body); err {
	case nil, errContinue:
		return false, nil
	case errBreak:
		return true, nil
	default:
		return false, err
	}
}

func (r *run) forIn(n *node) error {
	arr, err := r.arrayOf(n.b)
	if err != nil {
		return err
	}
	if err := r.room(16 * len(arr.m)); err != nil {
		return err
	}
	keys := arr.list()
	if e := r.globals[varPROCINFO].arr().m["sorted_in"]; e != nil {
		if err := r.sortKeys(e.v.str(r.convfmt), arr, keys); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if !arr.has(k) {
			continue
		}
		if err := r.tick(); err != nil {
			return err
		}
		if err := r.assign(n.a, value{kind: input, s: k}); err != nil {
			return err
		}
		if left, err := r.round(n.body); left || err != nil {
			return err
		}
	}
	return nil
}

func (r *run) choose(n *node) error {
	v, err := r.eval(n.a)
	if err != nil {
		return err
	}
	at := -1
	for i, c := range n.list {
		if c.op == "default" {
			if at < 0 {
				at = i
			}
			continue
		}
		if c.a.op == "regex" {
			found, err := r.match(r.literal(c.a), v.str(r.convfmt))
			if err != nil {
				return err
			}
			if found.truth() {
				at = i
				break
			}
			continue
		}
		w, err := r.eval(c.a)
		if err != nil {
			return err
		}
		if r.compare(v, w) == 0 {
			at = i
			break
		}
	}
	if at < 0 {
		return nil
	}
	for _, c := range n.list[at:] {
		if err := r.block(c.body); err == errBreak {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) remove(n *node) error {
	arr, err := r.arrayOf(n.a)
	if err != nil || n.list == nil {
		if err == nil {
			r.empty(arr)
		}
		return err
	}
	key, err := r.subscript(n.list)
	if e := arr.m[key]; e != nil {
		r.forget(key, e)
		delete(arr.m, key)
	}
	return err
}
