package shell

// usages are what builtins print after a wrong option.
var usages = map[string]string{
	"declare":  "declare [-aAfFgiIlnrtux] [name[=value] ...] or declare -p [-aAfFilnrtux] [name ...]",
	"typeset":  "typeset [-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]",
	"local":    "local [option] name[=value] ...",
	"export":   "export [-fn] [name[=value] ...] or export -p",
	"readonly": "readonly [-aAf] [name[=value] ...] or readonly -p",
	"set":      "set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]",
}

// usage reports a wrong call of a builtin, whose status is 2.
func (sh *shell) usage(command, what, usage string) int {
	if what != "" {
		sh.errorf("%s: %s", command, what)
	}
	sh.write(2, command+": usage: "+usage+"\n")
	return 2
}
