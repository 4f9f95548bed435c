package builtins

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// mapping is a call of mapfile or readarray.
type mapping struct {
	name     string // of the builtin
	into     string
	fd       int
	delim    byte
	trim     bool
	limit    int // of lines, 0 without one
	skip     int
	origin   int // -1 to replace the array
	callback string
	quantum  int // lines from one call of the callback to the next
	lines    []string
}

// mapfile is mapfile and readarray.
func mapfile(sh Shell, name string, flags Flags, args []string) int {
	m := mapping{name: name, into: "MAPFILE", delim: '\n', origin: -1, quantum: 5000}
	for _, f := range flags {
		if status := m.option(sh, f.Letter, f.Value); status != 0 {
			return status
		}
	}
	if len(args) > 0 {
		m.into = args[0]
	}
	if sh.Files().FDs[m.fd] == nil {
		return fail(sh, "%s: %d: invalid file descriptor: Bad file descriptor", m.name, m.fd)
	}
	return m.run(sh)
}

// option sets an option with its value, and returns a status that is not 0 if that fails.
func (m *mapping) option(sh Shell, letter byte, value string) int {
	into, least, wrong := (*int)(nil), 0, "invalid line count"
	switch letter {
	case 'd':
		if m.delim = 0; value != "" {
			m.delim = value[0]
		}
		return 0
	case 'C':
		m.callback = value
		return 0
	case 'c':
		into, least, wrong = &m.quantum, 1, "invalid callback quantum"
	case 'n':
		into = &m.limit
	case 's':
		into = &m.skip
	case 'O':
		into, wrong = &m.origin, "invalid array origin"
	case 'u':
		into, wrong = &m.fd, "invalid file descriptor specification"
	case 't':
		m.trim = true
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if *into = n; err != nil || n < least {
		return fail(sh, "%s: %s: %s", m.name, value, wrong)
	}
	return 0
}

// run reads the lines. The callback is called before the line that it is told of is in
// the array.
func (m *mapping) run(sh Shell) int {
	for n := 1; m.limit == 0 || n <= m.limit; {
		line, err := ReadLine(sh, m.fd, m.delim)
		if errors.Is(err, vars.ErrMemory) || !sh.Vars().Room(int64(len(line))+vars.ElementCost) {
			sh.Exhausted(vars.ErrMemory)
			return 1
		}
		if err != nil && line == "" {
			break
		}
		if m.skip--; m.skip >= 0 {
			continue
		}
		if !m.trim && err == nil && m.delim != 0 { // no variable holds a NUL
			line += string(m.delim)
		}
		if m.callback != "" && n%m.quantum == 0 {
			if status := m.store(sh); status != 0 {
				return status
			}
			sh.Eval(fmt.Sprintf("%s %d %s", m.callback, m.origin, quote.Single(line)))
			if sh.Stopped() {
				return sh.JumpStatus()
			}
		}
		m.lines = append(m.lines, line)
		n++
	}
	return m.store(sh)
}

// store puts the lines that were read into the array, and moves its origin behind them.
func (m *mapping) store(sh Shell) int {
	if m.origin < 0 {
		if err := sh.Vars().SetList(m.into, m.lines); err != nil {
			return failed(sh, m.name, err)
		}
		m.origin, m.lines = len(m.lines), nil
	}
	for _, s := range m.lines {
		if err := sh.Vars().SetElement(m.into, strconv.Itoa(m.origin), s, false); err != nil {
			return failed(sh, m.name, err)
		}
		m.origin++
	}
	m.lines = nil
	return 0
}
