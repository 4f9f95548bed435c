package shell

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/shell/vars"
)

func (sh *shell) cd(args []string) int {
	args = args[1:]
	physical := sh.opts.Physical
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		switch args[0] {
		case "-P":
			physical = true
		case "-L", "-e", "-@", "--":
		default:
			return sh.usage("cd", args[0]+": invalid option", "cd [-L|[-P [-e]] [-@]] [dir]")
		}
		args = args[1:]
	}
	if len(args) > 1 {
		sh.errorf("cd: too many arguments")
		return 1
	}
	to, show := sh.vars.Get("HOME"), false
	switch {
	case len(args) == 0 && to == "":
		sh.errorf("cd: HOME not set")
		return 1
	case len(args) == 0:
	case args[0] == "-":
		if to, show = sh.vars.Get("OLDPWD"), true; to == "" {
			sh.errorf("cd: OLDPWD not set")
			return 1
		}
	default:
		to = args[0]
	}
	if to == "" {
		return 0
	}
	if paths := sh.vars.Get("CDPATH"); paths != "" && len(args) == 1 && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, ".") {
		for dir := range strings.SplitSeq(paths, ":") {
			if dir != "" && dir != "." && sh.files.IsDir(dir+"/"+to) {
				to, show = dir+"/"+to, true
				break
			}
		}
	}
	return sh.change("cd", to, physical, show)
}

// change changes the working directory.
func (sh *shell) change(command, to string, physical, show bool) int {
	dir := sh.files.Clean(to)
	n, e := sh.files.Lookup(dir, true)
	if e == abi.OK && sh.files.Absolute(to) != dir {
		_, e = sh.files.Lookup(to, true) // a/.. needs an a
	}
	switch {
	case e == abi.OK && !n.IsDir():
		e = abi.ENOTDIR
	case e == abi.OK:
		e = sh.files.FS.Access(n, abi.X_OK)
	}
	if e != abi.OK {
		sh.errorf("%s: %s: %s", command, to, message(e))
		return 1
	}
	if physical {
		if p, e := sh.files.FS.PathOf(n); e == abi.OK {
			dir = p
		}
	}
	old := sh.files.Dir
	sh.files.Dir = dir
	if sh.vars.Set("OLDPWD", old) != nil || sh.vars.Set("PWD", dir) != nil {
		return 1
	}
	if v := sh.vars.Lookup("OLDPWD"); v != nil {
		v.Attrs |= vars.Exported
	}
	if show {
		return sh.print(command, dir+"\n")
	}
	return 0
}

func (sh *shell) pwd(args []string) int {
	dir := sh.files.Dir
	if slices.Contains(args, "-P") || sh.opts.Physical {
		if n, e := sh.files.Lookup(dir, true); e == abi.OK {
			if p, e := sh.files.FS.PathOf(n); e == abi.OK {
				dir = p
			}
		}
	}
	return sh.print("pwd", dir+"\n")
}

func (sh *shell) showDirs(command string) int {
	return sh.print(command, strings.Join(sh.dirStack(false), " ")+"\n")
}

// dirStack returns the working directory and those behind it, with ~ for the home
// directory unless they are to be long.
func (sh *shell) dirStack(long bool) []string {
	list := append([]string{sh.files.Dir}, sh.files.Pushed...)
	for i, d := range list {
		if long {
			break
		}
		if rest, ok := strings.CutPrefix(d, sh.vars.Get("HOME")); ok && sh.vars.Get("HOME") != "" && (rest == "" || rest[0] == '/') {
			list[i] = "~" + rest
		}
	}
	return list
}

func (sh *shell) pushd(args []string) int {
	old := sh.files.Dir
	switch {
	case len(args) == 1 && len(sh.files.Pushed) == 0:
		sh.errorf("pushd: no other directory")
		return 1
	case len(args) == 1:
		to := sh.files.Pushed[0]
		if sh.change("pushd", to, false, false) != 0 {
			return 1
		}
		sh.files.Pushed = append([]string{old}, sh.files.Pushed[1:]...)
		return sh.showDirs("pushd")
	}
	to := args[len(args)-1]
	if n, err := strconv.Atoi(strings.TrimPrefix(to, "+")); err == nil && to[0] == '+' {
		all := append([]string{sh.files.Dir}, sh.files.Pushed...)
		if n >= len(all) {
			sh.errorf("pushd: %s: directory stack index out of range", to)
			return 1
		}
		all = append(slices.Clone(all[n:]), all[:n]...)
		if sh.change("pushd", all[0], false, false) != 0 {
			return 1
		}
		sh.files.Pushed = all[1:]
		return sh.showDirs("pushd")
	}
	if sh.change("pushd", to, false, false) != 0 {
		return 1
	}
	if len(sh.files.Pushed) < maxJobs {
		sh.files.Pushed = append([]string{old}, sh.files.Pushed...)
	}
	return sh.showDirs("pushd")
}

func (sh *shell) popd([]string) int {
	if len(sh.files.Pushed) == 0 {
		sh.errorf("popd: directory stack empty")
		return 1
	}
	if sh.change("popd", sh.files.Pushed[0], false, false) != 0 {
		return 1
	}
	sh.files.Pushed = sh.files.Pushed[1:]
	return sh.showDirs("popd")
}

func (sh *shell) dirsBuiltin(args []string) int {
	long, lines, numbers, at := false, false, false, ""
	for _, a := range args[1:] {
		if n := strings.TrimLeft(a, "+-"); n != "" && strings.Trim(n, "0123456789") == "" && len(n) == len(a)-1 {
			at = a
			continue
		}
		if a == "" || a[0] != '-' || strings.Trim(a, "-clpv") != "" {
			return sh.usage("dirs", a+": invalid number", "dirs [-clpv] [+N] [-N]")
		}
		if strings.Contains(a, "c") {
			sh.files.Pushed = nil
			return 0
		}
		long = long || strings.Contains(a, "l")
		lines, numbers = lines || strings.ContainsAny(a, "pv"), numbers || strings.Contains(a, "v")
	}
	list := sh.dirStack(long)
	if at != "" {
		n, _ := strconv.Atoi(at[1:])
		if n >= len(list) {
			sh.errorf("dirs: %s: directory stack index out of range", at[1:])
			return 1
		}
		if at[0] == '-' {
			n = len(list) - 1 - n
		}
		list = list[n : n+1]
	}
	if numbers {
		for i, d := range list {
			list[i] = fmt.Sprintf("%2d  %s", i, d)
		}
	}
	return sh.print("dirs", strings.Join(list, map[bool]string{true: "\n", false: " "}[lines])+"\n")
}

// which returns the path of a program, "" without one.
func (sh *shell) which(name string) string {
	p, e := sh.p.Kernel().LookPath(name, sh.files.Dir, []string{"PATH=" + sh.vars.Get("PATH")})
	if e != abi.OK {
		return ""
	}
	if !path.IsAbs(p) && !strings.Contains(name, "/") {
		return sh.files.Clean(p)
	}
	return p
}
