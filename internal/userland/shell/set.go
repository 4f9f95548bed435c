package shell

import (
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
	"fmt"
	"slices"
	"strings"
)

// setBuiltin is set.
func (sh *shell) setBuiltin(args []string) int {
	args = args[1:]
	if len(args) == 0 {
		var b strings.Builder
		for _, name := range sh.vars.Names() {
			v, _ := sh.vars.Scope.Find(name)
			if v.Kind == vars.Scalar {
				b.WriteString(name + "=" + quote.Value(v.Str) + "\n")
			} else {
				b.WriteString(name + "=" + v.Shown() + "\n")
			}
		}
		return sh.print("set", b.String())
	}
	rest, given, status := sh.setFlags(args, "set")
	if status != 0 {
		return status
	}
	if given {
		sh.params = rest
	}
	return 0
}

// setFlags sets the options that args begins with. given reports whether there are
// parameters behind them.
func (sh *shell) setFlags(args []string, command string) (rest []string, given bool, status int) {
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--":
			return args[1:], true, 0
		case a == "-":
			sh.opts.Xtrace, sh.opts.Verbose = false, false
			return args[1:], len(args) > 1, 0
		case len(a) < 2 || a[0] != '-' && a[0] != '+':
			return args, true, 0
		}
		args = args[1:]
		for _, c := range []byte(a[1:]) {
			if c == 'o' {
				if len(args) == 0 {
					return nil, false, sh.showOptions(options.OfSet, a[0] == '+', "set")
				}
				if !sh.setNamed(args[0], a[0] == '-') {
					sh.errorf("%s: %s: invalid option name", command, args[0])
					return nil, false, 2
				}
				args = args[1:]
				continue
			}
			i := slices.IndexFunc(options.OfSet, func(x options.Option) bool { return x.Letter == c })
			if i < 0 {
				return nil, false, sh.usage(command, a[:1]+string(c)+": invalid option", usages["set"])
			}
			sh.setNamed(options.OfSet[i].Name, a[0] == '-')
		}
	}
	return nil, false, 0
}

func (sh *shell) setNamed(name string, on bool) bool {
	p := sh.opts.Find(name)
	if p != nil {
		*p = on != options.Opposite(name)
	}
	return p != nil
}

// showOptions lists options, as commands that set them where again is set.
func (sh *shell) showOptions(list []options.Option, again bool, command string) int {
	var b strings.Builder
	for _, x := range list {
		on := *x.At(&sh.opts) != options.Opposite(x.Name)
		switch {
		case again && command == "set":
			fmt.Fprintf(&b, "set %so %s\n", map[bool]string{true: "-", false: "+"}[on], x.Name)
		case again:
			fmt.Fprintf(&b, "shopt %s %s\n", map[bool]string{true: "-s", false: "-u"}[on], x.Name)
		default:
			fmt.Fprintf(&b, "%-15s\t%s\n", x.Name, map[bool]string{true: "on", false: "off"}[on])
		}
	}
	return sh.print(command, b.String())
}

// shopt is the builtin.
func (sh *shell) shopt(args []string) int {
	mode, quiet, list, again := byte(0), false, options.OfShopt, false
	args = args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		for _, c := range []byte(args[0][1:]) {
			switch c {
			case 's', 'u':
				mode = c
			case 'q':
				quiet = true
			case 'o':
				list = options.OfSet
			case 'p':
				again = true
			default:
				return sh.usage("shopt", "-"+string(c)+": invalid option", "shopt [-pqsu] [-o] [optname ...]")
			}
		}
		args = args[1:]
	}
	named := "shopt"
	if again && len(list) == len(options.OfSet) {
		named = "set"
	}
	if len(args) == 0 {
		list = slices.DeleteFunc(slices.Clone(list), func(x options.Option) bool { return mode != 0 && *x.At(&sh.opts) != (mode == 's') })
		return sh.showOptions(list, again, named)
	}
	status := 0
	for _, name := range args {
		i := slices.IndexFunc(list, func(x options.Option) bool { return x.Name == name })
		if i < 0 {
			if !options.Ignored(name) {
				sh.errorf("shopt: %s: invalid shell option name", name)
			}
			if status = 1; options.Ignored(name) && mode != 0 {
				status = 0
			}
			continue
		}
		p := list[i].At(&sh.opts)
		switch {
		case mode != 0:
			*p = (mode == 's') != options.Opposite(name)
		case *p == options.Opposite(name):
			status = 1
			fallthrough
		default:
			if !quiet {
				sh.showOptions(list[i:i+1], again, named)
			}
		}
	}
	return status
}
