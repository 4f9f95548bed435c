package shell

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/userland/shell/quote"
)

// options are those of set and shopt.
type options struct {
	allexport, errexit, errtrace, functrace, hashall, monitor, noclobber, noexec, noglob, nounset, pipefail, posix,
	verbose, xtrace, nobrace, histexpand, notify, onecmd, physical, privileged, ignoreeof, interactiveComments, emacs, vi, history, keyword, nolog bool

	dotglob, expandAliases, extglob, failglob, globstar, globskipdots, inheritErrexit, lastpipe, nocaseglob, nocasematch, nullglob,
	sourcepath, xpgEcho, patsub, checkwinsize, cmdhist, assocExpandOnce, localvarInherit bool
}

// defaults are the options of a new shell.
var defaults = options{hashall: true, interactiveComments: true, globskipdots: true, sourcepath: true, patsub: true, checkwinsize: true, cmdhist: true}

// option is an option of set, with its letter.
type option struct {
	name   string
	letter byte
	at     func(*options) *bool
}

var setOptions = []option{
	{"allexport", 'a', func(o *options) *bool { return &o.allexport }},
	{"braceexpand", 'B', func(o *options) *bool { return &o.nobrace }}, // the opposite: see option
	{"emacs", 0, func(o *options) *bool { return &o.emacs }},
	{"errexit", 'e', func(o *options) *bool { return &o.errexit }},
	{"errtrace", 'E', func(o *options) *bool { return &o.errtrace }},
	{"functrace", 'T', func(o *options) *bool { return &o.functrace }},
	{"hashall", 'h', func(o *options) *bool { return &o.hashall }},
	{"histexpand", 'H', func(o *options) *bool { return &o.histexpand }},
	{"history", 0, func(o *options) *bool { return &o.history }},
	{"ignoreeof", 0, func(o *options) *bool { return &o.ignoreeof }},
	{"interactive-comments", 0, func(o *options) *bool { return &o.interactiveComments }},
	{"keyword", 'k', func(o *options) *bool { return &o.keyword }},
	{"monitor", 'm', func(o *options) *bool { return &o.monitor }},
	{"noclobber", 'C', func(o *options) *bool { return &o.noclobber }},
	{"noexec", 'n', func(o *options) *bool { return &o.noexec }},
	{"noglob", 'f', func(o *options) *bool { return &o.noglob }},
	{"nolog", 0, func(o *options) *bool { return &o.nolog }},
	{"notify", 'b', func(o *options) *bool { return &o.notify }},
	{"nounset", 'u', func(o *options) *bool { return &o.nounset }},
	{"onecmd", 't', func(o *options) *bool { return &o.onecmd }},
	{"physical", 'P', func(o *options) *bool { return &o.physical }},
	{"pipefail", 0, func(o *options) *bool { return &o.pipefail }},
	{"posix", 0, func(o *options) *bool { return &o.posix }},
	{"privileged", 'p', func(o *options) *bool { return &o.privileged }},
	{"verbose", 'v', func(o *options) *bool { return &o.verbose }},
	{"vi", 0, func(o *options) *bool { return &o.vi }},
	{"xtrace", 'x', func(o *options) *bool { return &o.xtrace }},
}

var shoptOptions = []option{
	{"assoc_expand_once", 0, func(o *options) *bool { return &o.assocExpandOnce }},
	{"checkwinsize", 0, func(o *options) *bool { return &o.checkwinsize }},
	{"cmdhist", 0, func(o *options) *bool { return &o.cmdhist }},
	{"dotglob", 0, func(o *options) *bool { return &o.dotglob }},
	{"expand_aliases", 0, func(o *options) *bool { return &o.expandAliases }},
	{"extglob", 0, func(o *options) *bool { return &o.extglob }},
	{"failglob", 0, func(o *options) *bool { return &o.failglob }},
	{"globskipdots", 0, func(o *options) *bool { return &o.globskipdots }},
	{"globstar", 0, func(o *options) *bool { return &o.globstar }},
	{"inherit_errexit", 0, func(o *options) *bool { return &o.inheritErrexit }},
	{"lastpipe", 0, func(o *options) *bool { return &o.lastpipe }},
	{"localvar_inherit", 0, func(o *options) *bool { return &o.localvarInherit }},
	{"nocaseglob", 0, func(o *options) *bool { return &o.nocaseglob }},
	{"nocasematch", 0, func(o *options) *bool { return &o.nocasematch }},
	{"nullglob", 0, func(o *options) *bool { return &o.nullglob }},
	{"patsub_replacement", 0, func(o *options) *bool { return &o.patsub }},
	{"sourcepath", 0, func(o *options) *bool { return &o.sourcepath }},
	{"xpg_echo", 0, func(o *options) *bool { return &o.xpgEcho }},
}

// option returns where an option of set is kept, nil without one.
func (o *options) option(name string) *bool {
	for _, x := range setOptions {
		if x.name == name {
			return x.at(o)
		}
	}
	return nil
}

// opposite reports whether an option is kept as its opposite.
func opposite(name string) bool { return name == "braceexpand" }

func (o *options) on() (names []string) {
	for _, x := range setOptions {
		if *x.at(o) != opposite(x.name) {
			names = append(names, x.name)
		}
	}
	return names
}

func (o *options) shoptOn() (names []string) {
	for _, x := range shoptOptions {
		if *x.at(o) {
			names = append(names, x.name)
		}
	}
	return names
}

// letters is $-.
func (o *options) letters() string {
	var s []byte
	for _, x := range setOptions {
		if x.letter != 0 && *x.at(o) != opposite(x.name) {
			s = append(s, x.letter)
		}
	}
	slices.SortFunc(s, func(a, b byte) int { return int(a^0x20) - int(b^0x20) }) // lower case first
	return string(s)
}

// setBuiltin is set.
func (sh *shell) setBuiltin(args []string) int {
	args = args[1:]
	if len(args) == 0 {
		var b strings.Builder
		for _, name := range sh.names() {
			v, _ := sh.scope.find(name)
			if v.kind == scalar {
				b.WriteString(name + "=" + quote.Value(v.str) + "\n")
			} else {
				b.WriteString(name + "=" + sh.shown(v) + "\n")
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
			sh.opts.xtrace, sh.opts.verbose = false, false
			return args[1:], len(args) > 1, 0
		case len(a) < 2 || a[0] != '-' && a[0] != '+':
			return args, true, 0
		}
		args = args[1:]
		for _, c := range []byte(a[1:]) {
			if c == 'o' {
				if len(args) == 0 {
					return nil, false, sh.showOptions(setOptions, a[0] == '+', "set")
				}
				if !sh.setNamed(args[0], a[0] == '-') {
					sh.errorf("%s: %s: invalid option name", command, args[0])
					return nil, false, 2
				}
				args = args[1:]
				continue
			}
			i := slices.IndexFunc(setOptions, func(x option) bool { return x.letter == c })
			if i < 0 {
				return nil, false, sh.usage(command, a[:1]+string(c)+": invalid option", usages["set"])
			}
			sh.setNamed(setOptions[i].name, a[0] == '-')
		}
	}
	return nil, false, 0
}

func (sh *shell) setNamed(name string, on bool) bool {
	p := sh.opts.option(name)
	if p != nil {
		*p = on != opposite(name)
	}
	return p != nil
}

// showOptions lists options, as commands that set them where again is set.
func (sh *shell) showOptions(list []option, again bool, command string) int {
	var b strings.Builder
	for _, x := range list {
		on := *x.at(&sh.opts) != opposite(x.name)
		switch {
		case again && command == "set":
			fmt.Fprintf(&b, "set %so %s\n", map[bool]string{true: "-", false: "+"}[on], x.name)
		case again:
			fmt.Fprintf(&b, "shopt %s %s\n", map[bool]string{true: "-s", false: "-u"}[on], x.name)
		default:
			fmt.Fprintf(&b, "%-15s\t%s\n", x.name, map[bool]string{true: "on", false: "off"}[on])
		}
	}
	return sh.print(command, b.String())
}

// shopt is the builtin.
func (sh *shell) shopt(args []string) int {
	mode, quiet, list, again := byte(0), false, shoptOptions, false
	args = args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		for _, c := range []byte(args[0][1:]) {
			switch c {
			case 's', 'u':
				mode = c
			case 'q':
				quiet = true
			case 'o':
				list = setOptions
			case 'p':
				again = true
			default:
				return sh.usage("shopt", "-"+string(c)+": invalid option", "shopt [-pqsu] [-o] [optname ...]")
			}
		}
		args = args[1:]
	}
	named := "shopt"
	if again && len(list) == len(setOptions) {
		named = "set"
	}
	if len(args) == 0 {
		list = slices.DeleteFunc(slices.Clone(list), func(x option) bool { return mode != 0 && *x.at(&sh.opts) != (mode == 's') })
		return sh.showOptions(list, again, named)
	}
	status := 0
	for _, name := range args {
		i := slices.IndexFunc(list, func(x option) bool { return x.name == name })
		if i < 0 {
			if !knownShopt(name) {
				sh.errorf("shopt: %s: invalid shell option name", name)
			}
			if status = 1; knownShopt(name) && mode != 0 {
				status = 0
			}
			continue
		}
		p := list[i].at(&sh.opts)
		switch {
		case mode != 0:
			*p = (mode == 's') != opposite(name)
		case *p == opposite(name):
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

// knownShopt reports whether an option is one of bash's that mean nothing here.
func knownShopt(name string) bool {
	return slices.Contains(strings.Fields("array_expand_once autocd cdable_vars cdspell checkhash checkjobs compat31 compat32 compat40 "+
		"compat41 compat42 compat43 compat44 complete_fullquote direxpand dirspell execfail extdebug extquote force_fignore "+
		"globasciiranges gnu_errfmt histappend histreedit histverify hostcomplete huponexit interactive_comments lithist "+
		"localvar_unset login_shell mailwarn no_empty_cmd_completion noexpand_translation nocaseglob progcomp "+
		"progcomp_alias promptvars restricted_shell shift_verbose syslog_history varredir_close"), name)
}
