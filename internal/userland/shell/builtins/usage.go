package builtins

import "strings"

// usages are the options of builtins, those with a value followed by a colon, and what is
// printed after a wrong one.
var usages = map[string]struct{ options, usage string }{
	".":         {"", ". filename [arguments]"},
	"builtin":   {"", "builtin [shell-builtin [arg ...]]"},
	"cd":        {"LPe@", "cd [-L|[-P [-e]] [-@]] [dir]"},
	"command":   {"pvV", "command [-pVv] command [arg ...]"},
	"compgen":   {"", "compgen [-abcdefgjksuv] [-o option] [-A action] [-G globpat] [-W wordlist] [-F function] [-C command] [-X filterpat] [-P prefix] [-S suffix] [word]"},
	"declare":   {"", "declare [-aAfFgiIlnrtux] [name[=value] ...] or declare -p [-aAfFilnrtux] [name ...]"},
	"dirs":      {"", "dirs [-clpv] [+N] [-N]"},
	"eval":      {"", "eval [arg ...]"},
	"exec":      {"cla:", "exec [-cl] [-a name] [command [argument ...]] [redirection ...]"},
	"export":    {"", "export [-fn] [name[=value] ...] or export -p"},
	"getopts":   {"", "getopts optstring name [arg ...]"},
	"jobs":      {"lnprs", "jobs [-lnprs] [jobspec ...] or jobs -x command [args]"},
	"kill":      {"", "kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]"},
	"local":     {"", "local [option] name[=value] ..."},
	"mapfile":   {"d:n:O:s:tu:C:c:", "mapfile [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]"},
	"printf":    {"v:", "printf [-v var] format [arguments]"},
	"read":      {"ersa:d:i:n:N:p:t:u:", "read [-ers] [-a array] [-d delim] [-i text] [-n nchars] [-N nchars] [-p prompt] [-t timeout] [-u fd] [name ...]"},
	"readarray": {"d:n:O:s:tu:C:c:", "readarray [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]"},
	"readonly":  {"", "readonly [-aAf] [name[=value] ...] or readonly -p"},
	"set":       {"", "set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]"},
	"shopt":     {"pqsuo", "shopt [-pqsu] [-o] [optname ...]"},
	"source":    {"", "source filename [arguments]"},
	"type":      {"afptP", "type [-afptP] name [name ...]"},
	"typeset":   {"", "typeset [-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]"},
	"umask":     {"pS", "umask [-p] [-S] [mode]"},
	"unalias":   {"", "unalias [-a] name [name ...]"},
	"unset":     {"fvn", "unset [-f] [-v] [-n] [name ...]"},
	"wait":      {"fnp:", "wait [-fn] [-p var] [id ...]"},
}

// Usage reports a wrong call of a builtin, whose status is 2.
func Usage(sh Shell, command, what string) int {
	if what != "" {
		sh.Errorf("%s: %s", command, what)
	}
	sh.Write(2, command+": usage: "+usages[command].usage+"\n")
	return 2
}

// fail reports why a builtin fails, whose status is 1.
func fail(sh Shell, format string, args ...any) int {
	sh.Errorf(format, args...)
	return 1
}

// failed reports an error that a builtin met, whose status is 1.
func failed(sh Shell, command string, err error) int {
	sh.ReportIn(command, err)
	return 1
}

// Flag is an option that a builtin was given.
type Flag struct {
	Letter byte
	Value  string
}

// Flags are the options that a builtin was given, in their order.
type Flags []Flag

// Last returns which of some options was given last, 0 without one.
func (f Flags) Last(letters string) (last byte) {
	for _, x := range f {
		if strings.IndexByte(letters, x.Letter) >= 0 {
			last = x.Letter
		}
	}
	return last
}

// On reports whether an option was given.
func (f Flags) On(letter byte) bool { return f.Last(string(letter)) != 0 }

// Value returns the last value of an option.
func (f Flags) Value(letter byte) (value string) {
	for _, x := range f {
		if x.Letter == letter {
			value = x.Value
		}
	}
	return value
}

// ParseFlags reads the options of a builtin, whose name args begins with. It reports one that
// there is not, and ok is false; the status is then 2.
func ParseFlags(sh Shell, args []string) (f Flags, rest []string, ok bool) {
	name, args := args[0], args[1:]
	known := usages[name].options
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		letters := args[0][1:]
		if args = args[1:]; letters == "-" {
			break
		}
		for letters != "" {
			x := Flag{Letter: letters[0]}
			letters = letters[1:]
			at := strings.IndexByte(known, x.Letter)
			if at < 0 || x.Letter == ':' {
				Usage(sh, name, "-"+string(x.Letter)+": invalid option")
				return nil, nil, false
			}
			if strings.HasPrefix(known[at+1:], ":") {
				if letters == "" && len(args) == 0 {
					Usage(sh, name, "-"+string(x.Letter)+": option requires an argument")
					return nil, nil, false
				}
				if x.Value, letters = letters, ""; x.Value == "" {
					x.Value, args = args[0], args[1:]
				}
			}
			f = append(f, x)
		}
	}
	return f, args, true
}
