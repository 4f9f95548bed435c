package runners

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// permission is a kind of thing that flags allow and deny.
type permission struct {
	name   string
	letter byte // of the short flag that allows it, 0 for none
	paths  bool // its list names files and directories
	allow  func(*Policy) *Grant
	deny   func(*Policy) *Grant
	ignore func(*Policy) *Grant // nil: no such flag
}

var permissions = []permission{
	{"read", 'R', true, func(p *Policy) *Grant { return &p.Read }, func(p *Policy) *Grant { return &p.DenyRead }, func(p *Policy) *Grant { return &p.IgnoreRead }},
	{"write", 'W', true, func(p *Policy) *Grant { return &p.Write }, func(p *Policy) *Grant { return &p.DenyWrite }, nil},
	{"net", 'N', false, func(p *Policy) *Grant { return &p.Net }, func(p *Policy) *Grant { return &p.DenyNet }, nil},
	{"env", 'E', false, func(p *Policy) *Grant { return &p.Env }, func(p *Policy) *Grant { return &p.DenyEnv }, func(p *Policy) *Grant { return &p.IgnoreEnv }},
	{"run", 0, false, func(p *Policy) *Grant { return &p.Run }, func(p *Policy) *Grant { return &p.DenyRun }, nil},
	{"sys", 'S', false, func(p *Policy) *Grant { return &p.Sys }, func(p *Policy) *Grant { return &p.DenySys }, nil},
	{"ffi", 0, true, func(p *Policy) *Grant { return &p.FFI }, func(p *Policy) *Grant { return &p.DenyFFI }, nil},
	{"import", 'I', false, func(p *Policy) *Grant { return &p.Import }, func(p *Policy) *Grant { return &p.DenyImport }, nil},
}

// notPermissions are flags that people may try here, each with the reason why
// it is refused.
var notPermissions = map[string]string{
	"--no-prompt":      "it is always in force and need not be given",
	"--permission-set": "permission sets need a configuration file, and programs run without one",
	"-P":               "permission sets need a configuration file, and programs run without one",
	"--allow-scripts":  "lifecycle scripts of npm packages are never run",
	"--allow-hrtime":   "Deno 2 has no such permission: the time is always exact",
	"--unstable":       "it is not a permission",
}

// ParsePolicy reads Deno's permission flags, as a shell would have split them:
// -A, --allow-all, --allow-KIND, --deny-KIND and --ignore-KIND, with or
// without a list after an equals sign, and the short forms -R, -W, -N, -E, -S
// and -I, also several in one (-RN). Relative paths are taken from the
// current directory. A flag may be given more than once: lists add up, and a flag
// without a list stands for everything.
//
// Anything else is an error that names it.
func ParsePolicy(args []string) (Policy, error) {
	var p Policy
	for _, arg := range args {
		if err := p.add(arg); err != nil {
			return Policy{}, err
		}
	}
	if p.All {
		for _, k := range permissions {
			*k.allow(&p) = Grant{All: true}
		}
	}
	_, err := p.network()
	return p, err
}

// add takes one argument.
func (p *Policy) add(arg string) error {
	name, list, hasList := strings.Cut(arg, "=")
	if reason, ok := notPermissions[name]; ok {
		return fmt.Errorf("%s is not a permission flag: %s", name, reason)
	}
	switch {
	case name == "-A" || name == "--allow-all":
		if hasList {
			return fmt.Errorf("%s takes no list", name)
		}
		p.All = true
		p.Args = append(p.Args, "--allow-all")
		return nil
	case strings.HasPrefix(name, "--"):
		return p.addLong(name, list, hasList)
	case strings.HasPrefix(name, "-") && len(name) > 1:
		return p.addShort(name, list, hasList)
	}
	return fmt.Errorf("%q is not a permission flag (a list follows its flag after an equals sign, as in --allow-read=/data,/tmp)", arg)
}

// addShort takes letters, of which the last may have a list.
func (p *Policy) addShort(name, list string, hasList bool) error {
	letters := name[1:]
	for i := range len(letters) {
		long := ""
		if letters[i] == 'A' {
			long = "--allow-all"
		}
		for _, k := range permissions {
			if k.letter == letters[i] {
				long = "--allow-" + k.name
			}
		}
		if long == "" {
			return fmt.Errorf("%s is not a permission flag (Deno's short ones are -A -R -W -N -E -S -I)", name)
		}
		arg := long
		if hasList && i == len(letters)-1 {
			arg += "=" + list
		}
		if err := p.add(arg); err != nil {
			return err
		}
	}
	return nil
}

func (p *Policy) addLong(name, list string, hasList bool) error {
	grant, kind := p.grant(name)
	if grant == nil {
		return fmt.Errorf("%s is not a permission flag (those of deno run are --allow-all, and --allow-, --deny- with read, write, net, env, run, sys, ffi, import)", name)
	}
	if !hasList {
		*grant = Grant{All: true}
		p.Args = append(p.Args, name)
		return nil
	}
	items, err := splitList(list)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", name, list, err)
	}
	if kind.paths {
		for i, item := range items {
			if items[i], err = filepath.Abs(item); err != nil {
				return fmt.Errorf("%s=%s: locate %s: %w", name, list, item, err)
			}
		}
	}
	p.Args = append(p.Args, name+"="+strings.Join(items, ","))
	if grant.All {
		return nil
	}
	for _, item := range items {
		if !slices.Contains(grant.List, item) {
			grant.List = append(grant.List, item)
		}
	}
	return nil
}

// grant finds what a long flag sets.
func (p *Policy) grant(flag string) (*Grant, permission) {
	for _, k := range permissions {
		switch flag {
		case "--allow-" + k.name:
			return k.allow(p), k
		case "--deny-" + k.name:
			return k.deny(p), k
		case "--ignore-" + k.name:
			if k.ignore != nil {
				return k.ignore(p), k
			}
		}
	}
	return nil, permission{}
}

// splitList splits at commas. Deno has no way to write a path with a comma.
func splitList(list string) ([]string, error) {
	if strings.ContainsRune(list, 0) {
		return nil, fmt.Errorf("a NUL character is in the list")
	}
	items := strings.Split(list, ",")
	if slices.Contains(items, "") {
		return nil, fmt.Errorf("an item of the list is empty")
	}
	return items, nil
}
