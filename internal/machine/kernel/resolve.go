package kernel

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// DefaultPath is PATH of a program that has none.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin"

// magic is what the file of a built-in program begins with; its name follows.
const magic = "\x7fbuilt-in "

// Bin returns a directory with a file for each built-in program, for Options.Bin.
// It can be shared by any number of kernels. What such a file runs is in its
// contents, so that copies and links of it work.
func Bin(names ...string) (fs.FS, error) {
	m := memfs.New(memfs.Options{})
	for _, name := range names {
		if err := m.WriteFile("/"+name, []byte(magic+name+"\n"), 0o755); err != nil {
			return nil, err
		}
	}
	return m.FS(), nil
}

const (
	maxHead    = 256 // of a script's first line, as on Linux
	maxScripts = 4   // that interpret one another, likewise
)

// LookPath returns the path of an executable: name itself if it has a slash, else
// the first of that name in a directory of PATH in env.
func (k *Kernel) LookPath(name, dir string, env []string) (string, abi.Errno) {
	if strings.Contains(name, "/") {
		return name, k.executable(name, dir)
	}
	if name == "" {
		return "", abi.ENOENT
	}
	at, e := k.searchPath(name, dir, env)
	if e == abi.ENOENT && k.options.Missing != nil && k.options.Missing(name) {
		at, e = k.searchPath(name, dir, env)
	}
	return at, e
}

func (k *Kernel) searchPath(name, dir string, env []string) (string, abi.Errno) {
	result := abi.ENOENT
	for _, in := range strings.Split(variable(env, "PATH", DefaultPath), ":") {
		at := path.Join(in, name)
		if in == "" || in == "." {
			at = "./" + name
		}
		switch e := k.executable(at, dir); e {
		case abi.OK:
			return at, abi.OK
		case abi.EACCES:
			result = e
		}
	}
	return "", result
}

// variable returns the value of an environment variable; of several of a name the
// last one's.
func variable(env []string, name, otherwise string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return otherwise
}

// executable reports whether there is a regular file that may be executed.
func (k *Kernel) executable(name, dir string) abi.Errno {
	at, e := k.fs.Lookup(nil, dir, true)
	if e != abi.OK {
		return e
	}
	n, e := k.fs.Lookup(at, name, true)
	switch {
	case e != abi.OK:
		return e
	case n.Type() != abi.S_IFREG:
		return abi.EACCES
	}
	return k.fs.Access(n, abi.X_OK)
}

// resolve sets e.Program to what e.Path is, and e.Args to those of a script's
// interpreter.
func (k *Kernel) resolve(e *Exec) error {
	name := e.Path
	at, errno := k.LookPath(name, e.Dir, e.Env)
	for range maxScripts {
		if errno != abi.OK {
			return fmt.Errorf("%s: %w", name, errno)
		}
		head, errno := k.head(at, e.Dir)
		if errno != abi.OK {
			return fmt.Errorf("%s: %w", name, errno)
		}
		if builtin, ok := strings.CutPrefix(head, magic); ok {
			if e.Program, ok = k.options.Lookup(builtin); !ok {
				return fmt.Errorf("%s: there is no built-in program %q: %w", name, builtin, abi.ENOENT)
			}
			e.Path, e.builtin = at, builtin
			return nil
		}
		if builtin := k.format(head); builtin != "" {
			var ok bool
			if e.Program, ok = k.options.Lookup(builtin); ok {
				e.Args = append([]string{builtin, at}, e.Args[min(1, len(e.Args)):]...)
				e.Path, e.builtin = at, builtin
				return nil
			}
		}
		line, ok := strings.CutPrefix(head, "#!")
		if !ok {
			return fmt.Errorf("%s: it is neither a script (#!) nor a built-in program: %w", name, abi.ENOEXEC)
		}
		interpreter, argument, has := strings.Cut(strings.Trim(line, " \t\r"), " ")
		args := []string{interpreter}
		if argument = strings.TrimLeft(argument, " \t"); has && argument != "" {
			args = append(args, argument)
		}
		args = append(args, at)
		if len(e.Args) > 1 {
			args = append(args, e.Args[1:]...)
		}
		name, at, e.Args = interpreter, interpreter, args
		errnoOf := k.executable(at, e.Dir)
		if errnoOf != abi.OK {
			return fmt.Errorf("%s, the interpreter of %s: %w", interpreter, e.Path, errnoOf)
		}
	}
	return fmt.Errorf("%s: %w", e.Path, abi.ELOOP)
}

// format returns the built-in program that runs a file with a head, "" if there is none.
func (k *Kernel) format(head string) string {
	for begin, builtin := range k.options.Formats {
		if strings.HasPrefix(head, begin) {
			return builtin
		}
	}
	return ""
}

// head returns the first line of a file, cut.
func (k *Kernel) head(name, dir string) (string, abi.Errno) {
	at, e := k.fs.Lookup(nil, dir, true)
	if e != abi.OK {
		return "", e
	}
	f, e := k.fs.Open(context.Background(), at, name, abi.O_RDONLY|abi.O_NONBLOCK, 0)
	if e != abi.OK {
		return "", e
	}
	defer f.Close()
	b := make([]byte, maxHead)
	n, e := f.Pread(context.Background(), b, 0)
	if e != abi.OK {
		return "", e
	}
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	return line, abi.OK
}
