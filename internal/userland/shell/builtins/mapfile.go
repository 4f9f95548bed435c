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
func mapfile(sh Shell, args []string) int {
	m := mapping{name: args[0], into: "MAPFILE", delim: '\n', origin: -1, quantum: 5000}
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		if a == "-t" {
			m.trim = true
			continue
		}
		if rest, ok := strings.CutPrefix(a, "-t"); ok {
			m.trim, a = true, "-"+rest
		}
		value := a[2:]
		if value == "" && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		if status := m.option(sh, a[:2], value); status != 0 {
			return status
		}
	}
	if len(args) > 0 {
		m.into = args[0]
	}
	if sh.Files().FDs[m.fd] == nil {
		sh.Errorf("%s: %d: invalid file descriptor: Bad file descriptor", m.name, m.fd)
		return 1
	}
	return m.run(sh)
}

// option sets an option with its value, and returns a status that is not 0 if that fails.
func (m *mapping) option(sh Shell, option, value string) int {
	into, least, wrong := (*int)(nil), 0, "invalid line count"
	switch option {
	case "-d":
		if m.delim = 0; value != "" {
			m.delim = value[0]
		}
		return 0
	case "-C":
		m.callback = value
		return 0
	case "-c":
		into, least, wrong = &m.quantum, 1, "invalid callback quantum"
	case "-n":
		into = &m.limit
	case "-s":
		into = &m.skip
	case "-O":
		into, wrong = &m.origin, "invalid array origin"
	case "-u":
		into, wrong = &m.fd, "invalid file descriptor specification"
	default:
		return Usage(sh, m.name, option+": invalid option", m.name+" [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]")
	}
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if *into = n; err != nil || n < least {
		sh.Errorf("%s: %s: %s", m.name, value, wrong)
		return 1
	}
	return 0
}

// run reads the lines. The callback is called before the line that it is told of is in
// the array.
func (m *mapping) run(sh Shell) int {
	for n := 1; m.limit == 0 || n <= m.limit; {
		line, err := ReadLine(sh, m.fd, m.delim, true)
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
			sh.ReportIn(m.name, err)
			return 1
		}
		m.origin, m.lines = len(m.lines), nil
	}
	for _, s := range m.lines {
		if err := sh.Vars().SetElement(m.into, strconv.Itoa(m.origin), s, false); err != nil {
			sh.ReportIn(m.name, err)
			return 1
		}
		m.origin++
	}
	m.lines = nil
	return 0
}
