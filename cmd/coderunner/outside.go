package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/runners"
)

// An argument may name a file or directory outside of the current directory. The program
// is not given it, and may not say so: a pattern has no matches there, is_dir is false.

// inGuest are directories that a program has its own of.
var inGuest = []string{"/", "/bin", "/dev", "/etc", "/home", "/lib", "/proc", "/sys", "/tmp", "/usr", "/var"}

// tellOutside returns the line which says that a program was not given what its arguments
// name outside of the current directory, and what shows it, or "".
func tellOutside(o runOptions, file string, req runners.Request) string {
	var names, flags []string
	up := ""
	for _, arg := range req.Args {
		arg = pathIn(arg)
		name, flag := filepath.Clean(arg), "--file "
		info, err := os.Stat(name)
		if arg == "" || err != nil || !info.IsDir() && !info.Mode().IsRegular() || slices.Contains(names, name) || wasGiven(req, name) {
			continue
		}
		if info.IsDir() {
			flag = "--dir "
		}
		switch leads, _ := filepath.Rel(absolute("."), absolute(name)); {
		case filepath.IsAbs(name):
			if o.reads || slices.Contains(inGuest, name) || strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") {
				continue
			}
			flag = "--allow-read="
		case filepath.IsLocal(name) && filepath.IsLocal(leads): // arguments tells why
			continue
		case !filepath.IsLocal(name) && (o.session != "" || !showsAbove(file, req)):
			flag = ""
			for rest := filepath.ToSlash(name); len(rest) > len(up) && strings.HasPrefix(rest+"/", up+"../"); {
				up += "../"
			}
		}
		names, flags = append(names, name), append(flags, flag+printable(name))
	}
	if len(names) == 0 {
		return ""
	}
	shown := printable(strings.Join(names, ", "))
	switch {
	case up != "":
		return fmt.Sprintf("coderunner: the program sees nothing above its directory, so not %s: run it from there (%s)\n", shown, fromAbove(file, up, req.Args))
	case len(names) == 1 && filepath.IsAbs(names[0]):
		return fmt.Sprintf("coderunner: the program was not given %s: %s shows it, under that path\n", shown, flags[0])
	case len(names) == 1:
		return fmt.Sprintf("coderunner: the program was not given %s: %s adds it\n", shown, flags[0])
	}
	return fmt.Sprintf("coderunner: the program was not given %s: %s add them\n", shown, strings.Join(flags, " "))
}

// showsAbove reports whether --file and --dir place what is above the current directory
// where the program finds it: see placeAbove.
func showsAbove(file string, req runners.Request) bool {
	return inCurrent(file) && (req.Dir != "" || !req.Below) && (req.Language == runners.Python || req.Language == runners.Bash)
}

// wasGiven reports whether a program has files of this path, or below it.
func wasGiven(req runners.Request, name string) bool {
	at := path.Join(req.Dir, filepath.ToSlash(name))
	return slices.ContainsFunc(req.Files, func(f runners.File) bool {
		return f.Path == at || strings.HasPrefix(f.Path, at+"/") || at == "." && !strings.HasPrefix(f.Path, req.Dir+"/")
	})
}

// fromAbove returns the command line that runs a program from a directory above.
func fromAbove(file, up string, args []string) string {
	base := absolute(up)
	words := []string{"cd", strings.TrimSuffix(up, "/"), "&&", "coderunner", "run"}
	switch file {
	case "":
		words = append(words, "-c", "CODE")
	case "-":
		words = append(words, "-")
	default:
		if rel, err := filepath.Rel(base, absolute(file)); err == nil {
			file = rel
		}
		words = append(words, printable(file))
	}
	for _, arg := range args {
		name := pathIn(arg)
		at, err := filepath.Abs(name)
		_, missing := os.Lstat(name)
		if rel, relErr := filepath.Rel(base, at); name != "" && !filepath.IsAbs(name) && err == nil && relErr == nil && (missing == nil || strings.HasPrefix(name, "../")) {
			arg = strings.TrimSuffix(arg, name) + rel
		}
		if arg == "" || strings.ContainsAny(arg, " \t'\"$*?[;&|()<>#\\`") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, printable(arg))
	}
	return strings.Join(words, " ")
}
