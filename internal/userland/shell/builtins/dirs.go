package builtins

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/vars"
)

func cd(sh Shell, flags Flags, args []string) int {
	physical := flags.On('P') || sh.Options().Physical && !flags.On('L')
	if len(args) > 1 {
		return fail(sh, "cd: too many arguments")
	}
	to, show := sh.Vars().Get("HOME"), false
	switch {
	case len(args) == 0 && to == "":
		return fail(sh, "cd: HOME not set")
	case len(args) == 0:
	case args[0] == "-":
		if to, show = sh.Vars().Get("OLDPWD"), true; to == "" {
			return fail(sh, "cd: OLDPWD not set")
		}
	default:
		to = args[0]
	}
	if to == "" {
		return 0
	}
	if paths := sh.Vars().Get("CDPATH"); paths != "" && len(args) == 1 && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, ".") {
		for dir := range strings.SplitSeq(paths, ":") {
			if dir != "" && dir != "." && sh.Files().IsDir(dir+"/"+to) {
				to, show = dir+"/"+to, true
				break
			}
		}
	}
	return changeDir(sh, "cd", to, physical, show)
}

// changeDir changes the working directory.
func changeDir(sh Shell, command, to string, physical, show bool) int {
	dir := sh.Files().Clean(to)
	n, e := sh.Files().Lookup(dir, true)
	if e == abi.OK && sh.Files().Absolute(to) != dir {
		_, e = sh.Files().Lookup(to, true) // a/.. needs an a
	}
	switch {
	case e == abi.OK && !n.IsDir():
		e = abi.ENOTDIR
	case e == abi.OK:
		e = sh.Files().FS.Access(n, abi.X_OK)
	}
	if e != abi.OK {
		return fail(sh, "%s: %s: %s", command, to, files.Message(e))
	}
	if physical {
		if p, e := sh.Files().FS.PathOf(n); e == abi.OK {
			dir = p
		}
	}
	old := sh.Files().Dir
	sh.Files().Dir = dir
	if sh.Vars().Set("OLDPWD", old) != nil || sh.Vars().Set("PWD", dir) != nil {
		return 1
	}
	if v := sh.Vars().Lookup("OLDPWD"); v != nil {
		v.Attrs |= vars.Exported
	}
	if show {
		return sh.Print(command, dir+"\n")
	}
	return 0
}

func pwd(sh Shell, args []string) int {
	dir := sh.Files().Dir
	if slices.Contains(args, "-P") || sh.Options().Physical {
		if n, e := sh.Files().Lookup(dir, true); e == abi.OK {
			if p, e := sh.Files().FS.PathOf(n); e == abi.OK {
				dir = p
			}
		}
	}
	return sh.Print("pwd", dir+"\n")
}

// dirStack returns the working directory and those behind it, with ~ for the home
// directory unless they are to be long.
func dirStack(sh Shell, long bool) []string {
	list := append([]string{sh.Files().Dir}, sh.Files().Pushed...)
	for i, d := range list {
		if long {
			break
		}
		if rest, ok := strings.CutPrefix(d, sh.Vars().Get("HOME")); ok && sh.Vars().Get("HOME") != "" && (rest == "" || rest[0] == '/') {
			list[i] = "~" + rest
		}
	}
	return list
}

// maxPushed bounds the directories that are remembered.
const maxPushed = 1000

func pushd(sh Shell, args []string) int {
	fl := sh.Files()
	all := append([]string{fl.Dir}, fl.Pushed...)
	to := args[len(args)-1]
	n, err := strconv.Atoi(strings.TrimPrefix(to, "+"))
	switch rotates := err == nil && to[0] == '+'; {
	case len(args) == 1 && len(fl.Pushed) == 0:
		return fail(sh, "pushd: no other directory")
	case len(args) == 1:
		all[0], all[1] = all[1], all[0]
	case rotates && n >= len(all):
		return fail(sh, "pushd: %s: directory stack index out of range", to)
	case rotates:
		all = slices.Concat(all[n:], all[:n])
	default:
		all = append([]string{to}, all[:min(len(all), maxPushed)]...)
	}
	return goTo(sh, "pushd", all)
}

// goTo makes all the working directory and those behind it.
func goTo(sh Shell, command string, all []string) int {
	if changeDir(sh, command, all[0], false, false) != 0 {
		return 1
	}
	sh.Files().Pushed = all[1:]
	return sh.Print(command, strings.Join(dirStack(sh, false), " ")+"\n")
}

func popd(sh Shell, _ []string) int {
	if len(sh.Files().Pushed) == 0 {
		return fail(sh, "popd: directory stack empty")
	}
	return goTo(sh, "popd", sh.Files().Pushed)
}

func dirs(sh Shell, args []string) int {
	long, lines, numbers, at := false, false, false, ""
	for _, a := range args[1:] {
		if n := strings.TrimLeft(a, "+-"); n != "" && strings.Trim(n, "0123456789") == "" && len(n) == len(a)-1 {
			at = a
			continue
		}
		if a == "" || a[0] != '-' || strings.Trim(a, "-clpv") != "" {
			return Usage(sh, "dirs", a+": invalid number")
		}
		if strings.Contains(a, "c") {
			sh.Files().Pushed = nil
			return 0
		}
		long = long || strings.Contains(a, "l")
		lines, numbers = lines || strings.ContainsAny(a, "pv"), numbers || strings.Contains(a, "v")
	}
	list := dirStack(sh, long)
	if at != "" {
		n, _ := strconv.Atoi(at[1:])
		if n >= len(list) {
			return fail(sh, "dirs: %s: directory stack index out of range", at[1:])
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
	return sh.Print("dirs", strings.Join(list, map[bool]string{true: "\n", false: " "}[lines])+"\n")
}

// Which returns the path of a program, "" without one.
func Which(sh Shell, name string) string {
	p, e := sh.Process().Kernel().LookPath(name, sh.Files().Dir, []string{"PATH=" + sh.Vars().Get("PATH")})
	if e != abi.OK {
		return ""
	}
	if !path.IsAbs(p) && !strings.Contains(name, "/") {
		return sh.Files().Clean(p)
	}
	return p
}
