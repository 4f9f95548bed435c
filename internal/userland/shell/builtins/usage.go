package builtins

// Usages are what builtins print after a wrong option.
var Usages = map[string]string{
	"declare":  "declare [-aAfFgiIlnrtux] [name[=value] ...] or declare -p [-aAfFilnrtux] [name ...]",
	"typeset":  "typeset [-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]",
	"local":    "local [option] name[=value] ...",
	"export":   "export [-fn] [name[=value] ...] or export -p",
	"readonly": "readonly [-aAf] [name[=value] ...] or readonly -p",
	"set":      "set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]",
}

// Usage reports a wrong call of a builtin, whose status is 2.
func Usage(sh Shell, command, what, usage string) int {
	if what != "" {
		sh.Errorf("%s: %s", command, what)
	}
	sh.Write(2, command+": usage: "+usage+"\n")
	return 2
}
