package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ownName is the name of this program, of its packages and of its images.
const ownName = "coderunner"

// Own is what this program is known by besides its name.
type Own struct {
	Executable string   // its path
	Packages   []string // of npm and PyPI, and images
}

// is reports whether a server is this program: by the base name of its command or the
// executable that this leads to, or by the package or image that a launcher starts.
func (o Own) is(s Server) bool {
	if s.Command == "" {
		return false
	}
	command, args := s.Command, s.Args
	if base(command) == "cmd" && len(args) > 1 { // Windows: cmd /c npx …
		command, args = args[1], args[2:]
	}
	switch base(command) {
	case ownName:
		return true
	case "npx", "bunx", "pnpx", "uvx", "pipx", "npm", "uv", "deno":
		return o.launched(args)
	case "docker", "podman", "nerdctl":
		return slices.ContainsFunc(args, func(arg string) bool { return !isPath(arg) && !strings.Contains(arg, ":/") && o.names(arg) })
	}
	return o.runs(command)
}

// launched reports whether the arguments of a launcher of packages name ours: as the first
// that is not a flag, or in a flag.
func (o Own) launched(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--from" || arg == "-p" || arg == "--package":
			if i+1 < len(args) && o.names(args[i+1]) {
				return true
			}
		case strings.HasPrefix(arg, "--from=") || strings.HasPrefix(arg, "--package="):
			if o.names(arg[strings.IndexByte(arg, '=')+1:]) {
				return true
			}
		case strings.HasPrefix(arg, "-") || slices.Contains([]string{"exec", "run", "x", "tool", "dlx"}, arg):
		case i > 0 && slices.Contains([]string{"--from", "-p", "--package", "--python"}, args[i-1]):
		default:
			return !isPath(arg) && o.names(arg)
		}
	}
	return false
}

func isPath(arg string) bool { return strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, ".") }

// names reports whether a package or an image, with a version or not, is ours.
func (o Own) names(arg string) bool {
	arg = strings.TrimPrefix(arg, "npm:")
	name := arg
	if at := strings.LastIndexAny(name, "@:"); at > strings.LastIndexByte(name, '/') && at > 0 {
		name = name[:at]
	}
	name, _, _ = strings.Cut(name, "==")
	return name[strings.LastIndexByte(name, '/')+1:] == ownName || slices.Contains(o.Packages, name)
}

// runs reports whether a command leads to our executable.
func (o Own) runs(command string) bool {
	path, err := exec.LookPath(command)
	if err != nil || o.Executable == "" {
		return false
	}
	theirs, err := os.Stat(path)
	ours, err2 := os.Stat(o.Executable)
	return err == nil && err2 == nil && os.SameFile(theirs, ours)
}

// base returns the name of a command, without directories and the endings of Windows.
func base(command string) string {
	name := strings.ToLower(filepath.Base(command))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}
