package builtins

import (
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
	"fmt"
	"slices"
	"strings"
)

// set is set.
func set(sh Shell, args []string) int {
	args = args[1:]
	if len(args) == 0 {
		var b strings.Builder
		for _, name := range sh.Vars().Names() {
			v, _ := sh.Vars().Scope.Find(name)
			if v.Kind == vars.Scalar {
				b.WriteString(name + "=" + quote.Value(v.Str) + "\n")
			} else {
				b.WriteString(name + "=" + v.Shown() + "\n")
			}
		}
		return sh.Print("set", b.String())
	}
	rest, given, status := SetFlags(sh, args, "set")
	if status != 0 {
		return status
	}
	if given {
		sh.State().Params = rest
	}
	return 0
}

// SetFlags sets the options that args begins with. given reports whether there are
// parameters behind them.
func SetFlags(sh Shell, args []string, command string) (rest []string, given bool, status int) {
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--":
			return args[1:], true, 0
		case a == "-":
			sh.Options().Xtrace, sh.Options().Verbose = false, false
			return args[1:], len(args) > 1, 0
		case len(a) < 2 || a[0] != '-' && a[0] != '+':
			return args, true, 0
		}
		args = args[1:]
		for _, c := range []byte(a[1:]) {
			if c == 'o' {
				if len(args) == 0 {
					return nil, false, showOptions(sh, options.OfSet, a[0] == '+', "set")
				}
				if !setNamed(sh, args[0], a[0] == '-') {
					sh.Errorf("%s: %s: invalid option name", command, args[0])
					return nil, false, 2
				}
				args = args[1:]
				continue
			}
			i := slices.IndexFunc(options.OfSet, func(x options.Option) bool { return x.Letter == c })
			if i < 0 {
				return nil, false, Usage(sh, command, a[:1]+string(c)+": invalid option")
			}
			setNamed(sh, options.OfSet[i].Name, a[0] == '-')
		}
	}
	return nil, false, 0
}

func setNamed(sh Shell, name string, on bool) bool {
	p := sh.Options().Find(name)
	if p != nil {
		*p = on != options.Opposite(name)
	}
	return p != nil
}

// showOptions lists options, as commands that set them where again is set.
func showOptions(sh Shell, list []options.Option, again bool, command string) int {
	var b strings.Builder
	for _, x := range list {
		on := *x.At(sh.Options()) != options.Opposite(x.Name)
		switch {
		case again && command == "set":
			fmt.Fprintf(&b, "set %so %s\n", map[bool]string{true: "-", false: "+"}[on], x.Name)
		case again:
			fmt.Fprintf(&b, "shopt %s %s\n", map[bool]string{true: "-s", false: "-u"}[on], x.Name)
		default:
			fmt.Fprintf(&b, "%-15s\t%s\n", x.Name, map[bool]string{true: "on", false: "off"}[on])
		}
	}
	return sh.Print(command, b.String())
}

func shopt(sh Shell, flags Flags, args []string) int {
	mode, quiet, again, list := flags.Last("su"), flags.On('q'), flags.On('p'), options.OfShopt
	if flags.On('o') {
		list = options.OfSet
	}
	named := "shopt"
	if again && len(list) == len(options.OfSet) {
		named = "set"
	}
	if len(args) == 0 {
		list = slices.DeleteFunc(slices.Clone(list), func(x options.Option) bool { return mode != 0 && *x.At(sh.Options()) != (mode == 's') })
		return showOptions(sh, list, again, named)
	}
	status := 0
	for _, name := range args {
		i := slices.IndexFunc(list, func(x options.Option) bool { return x.Name == name })
		if i < 0 {
			if !options.Ignored(name) {
				sh.Errorf("shopt: %s: invalid shell option name", name)
			}
			if status = 1; options.Ignored(name) && mode != 0 {
				status = 0
			}
			continue
		}
		p := list[i].At(sh.Options())
		switch {
		case mode != 0:
			*p = (mode == 's') != options.Opposite(name)
		case *p == options.Opposite(name):
			status = 1
			fallthrough
		default:
			if !quiet {
				showOptions(sh, list[i:i+1], again, named)
			}
		}
	}
	return status
}
