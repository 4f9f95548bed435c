package shell

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/userland/shell/vars"
)

// Version is the version of bash whose behaviour this is.
const Version = "5.2.15"

const (
	bashVersion = Version + "(1)-release"
	machType    = "wasm32-unknown-linux-gnu"
)

// bashVersinfo is BASH_VERSINFO.
var bashVersinfo = []string{"5", "2", "15", "1", "release", machType}

// special returns the variables that are computed, nil for others. A computed
// variable that was unset is an ordinary one, as in bash.
func (sh *shell) special(name string) *vars.Variable {
	if sh.vars.Plain[name] {
		return nil
	}
	switch name {
	case "RANDOM":
		return vars.Text(strconv.Itoa(sh.random.next()))
	case "SRANDOM":
		return vars.Text(strconv.FormatUint(uint64(rand.Uint32()), 10))
	case "SECONDS":
		return vars.Text(strconv.Itoa(int(time.Since(sh.state.Began) / time.Second)))
	case "EPOCHSECONDS":
		return vars.Text(strconv.FormatInt(time.Now().Unix(), 10))
	case "EPOCHREALTIME":
		us := time.Now().UnixMicro()
		return vars.Text(strconv.FormatInt(us/1e6, 10) + "." + strconv.FormatInt(1e6+us%1e6, 10)[1:])
	case "_":
		return vars.Text(sh.lastArg)
	case "LINENO":
		return vars.Text(strconv.Itoa(sh.line))
	case "BASH_COMMAND":
		if sh.current == nil {
			return vars.Text("")
		}
		return vars.Text(sh.currentSrc.Command(sh.current))
	case "BASHPID":
		return vars.Text(strconv.Itoa(sh.p.PID()))
	case "PPID":
		return vars.Text(strconv.Itoa(sh.p.Parent()))
	case "BASH_SUBSHELL":
		return vars.Text(strconv.Itoa(sh.depth))
	case "SHELLOPTS":
		return vars.Text(strings.Join(sh.opts.On(), ":"))
	case "BASHOPTS":
		return vars.Text(strings.Join(sh.opts.ShoptOn(), ":"))
	case "PIPESTATUS":
		list := make([]string, len(sh.pipeStatus))
		for i, n := range sh.pipeStatus {
			list[i] = strconv.Itoa(n)
		}
		return sh.vars.Computed(list)
	case "FUNCNAME", "BASH_SOURCE", "BASH_LINENO":
		return sh.callers(name)
	case "DIRSTACK":
		return sh.vars.Computed(append([]string{sh.files.Dir}, sh.files.Pushed...))
	}
	return nil
}

// callers returns the call stack, the innermost first.
func (sh *shell) callers(name string) *vars.Variable {
	var list []string
	for _, c := range slices.Backward(sh.calls) {
		switch name {
		case "FUNCNAME":
			list = append(list, c.name)
		case "BASH_SOURCE":
			list = append(list, c.source)
		default:
			list = append(list, strconv.Itoa(c.line))
		}
	}
	switch {
	case name == "BASH_SOURCE":
		list = append(list, sh.script)
	case name == "BASH_LINENO":
		list = append(list, "0")
	case len(list) > 0:
		list = append(list, "main")
	}
	if sh.script == "" && name == "BASH_SOURCE" && len(sh.calls) == 0 {
		list = nil
	}
	return sh.vars.Computed(list)
}

// assigned does what an assignment to some names means beside the value.
func (sh *shell) assigned(name, s string) {
	switch name {
	case "RANDOM":
		n, _ := sh.ex.Evaluate(s)
		sh.random.reseed(uint32(n))
	case "SECONDS":
		n, _ := sh.ex.Evaluate(s)
		sh.state.Began = time.Now().Add(-time.Duration(n) * time.Second)
	case "OPTIND":
		n, _ := strconv.Atoi(s)
		sh.state.SetOptind(n)
	}
}
