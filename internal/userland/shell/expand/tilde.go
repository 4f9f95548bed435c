package expand

import "strings"

// tilde replaces a ~ that a word begins with. only reports whether the word ends
// with s.
func (b *builder) tilde(s string, only bool) string {
	if !strings.HasPrefix(s, "~") {
		return s
	}
	name, rest, slash := strings.Cut(s[1:], "/")
	if slash {
		rest = "/" + rest
	} else if !only {
		return s
	}
	dir := ""
	switch name {
	case "":
		if dir = b.ex.vars.Get("HOME"); dir == "" {
			dir = home
		}
	case "+":
		dir = b.ex.files.Dir
	case "-":
		dir = b.ex.vars.Get("OLDPWD")
	case "root", "user":
		dir = home
	}
	if dir == "" {
		return s
	}
	b.add(dir, true)
	return rest
}

// tildes does so at the start of a value and behind its colons.
func (b *builder) tildes(s string, first, last bool) string {
	if !strings.Contains(s, "~") {
		return s
	}
	parts := strings.SplitAfter(s, ":")
	for i, p := range parts {
		if i > 0 || first {
			colon := strings.HasSuffix(p, ":")
			p = b.tilde(strings.TrimSuffix(p, ":"), i < len(parts)-1 || last)
			if colon {
				p += ":"
			}
		}
		if i < len(parts)-1 {
			b.lit(p)
		} else {
			s = p
		}
	}
	return s
}

// home is the home directory of the only user.
const home = "/home/user"

// prompt expands the escapes of PS1 and ${x@P} that have a meaning here.
func (ex *Expander) prompt(s string) string {
	dir := ex.files.Dir
	if rest, ok := strings.CutPrefix(dir, home); ok {
		dir = "~" + rest
	}
	base := dir[strings.LastIndexByte(dir, '/')+1:]
	return strings.NewReplacer(`\u`, "root", `\h`, "localhost", `\H`, "localhost", `\w`, dir, `\W`, base, `\s`, "bash",
		`\v`, "5.2", `\V`, "5.2.15", `\$`, "#", `\n`, "\n", `\[`, "", `\]`, "", `\\`, `\`).Replace(s)
}
