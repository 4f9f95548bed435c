package kernel

// MaxStack is how many bytes of its goroutine's stack the recursions of a process's
// program may take together. A goroutine whose stack is full, at 512 MiB in effect,
// ends the whole Go program, and nothing can recover from it.
const MaxStack = 128 << 20

// Stack is how deep a process's program is, whatever it is that recurses: statements,
// expansions, arithmetic, a parser, a regular expression's compiler. Each of them
// counts its own frames here instead of having a bound of its own, since what they
// take multiplies when one calls another. Only the program's goroutine uses it.
type Stack struct{ used int }

// Enter takes frame bytes, the most that one level of a recursion needs, and reports
// whether they are there. If so, the caller calls Leave with the same number.
func (s *Stack) Enter(frame int) bool {
	if s.used+frame > MaxStack {
		return false
	}
	s.used += frame
	return true
}

// Used returns how many bytes are taken.
func (s *Stack) Used() int { return s.used }

// Leave gives back what Enter took.
func (s *Stack) Leave(frame int) { s.used -= frame }
