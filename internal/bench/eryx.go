package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed guest/on_eryx.py
var eryxScript []byte

const (
	nameEryx    = "eryx, in its process"
	eryxPackage = "pyeryx==0.11.0"
)

// openEryx installs eryx into a virtual environment of the bench's own, which
// stays for the next time, with the first CPython that there is a wheel for.
func (h *hosts) openEryx(ctx context.Context) {
	if h.pythonErr != nil {
		h.eryxErr = h.pythonErr
		return
	}
	path, err := installEryx(ctx, h.pythons())
	if err != nil {
		h.eryxErr = fmt.Errorf("install %s: %w", eryxPackage, err)
		return
	}
	if h.eryxErr = h.writeFile("on_eryx.py", eryxScript); h.eryxErr != nil {
		return
	}
	h.eryx = command{path: path, dir: h.files, env: h.peerEnv(), args: []string{h.file("on_eryx.py")}}
	h.peerVersions = append(h.peerVersions, strings.ReplaceAll(eryxPackage, "==", " "))
}

// pythons are the CPythons of this machine: those on the path and those that
// are installed beside them.
func (h *hosts) pythons() []string {
	var found []string
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(h.python.path), "..", "..", "*", "bin", "python3"))
	for _, name := range []string{"python3.14", "python3.13", "python3.12"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	found = append(found, h.python.path)
	for i := range beside { // the newest first, as a rule
		found = append(found, beside[len(beside)-1-i])
	}
	return found
}

// installEryx gives the Python of a virtual environment that has eryx.
func installEryx(ctx context.Context, pythons []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cacheDir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cacheDir, "coderunner-bench", strings.ReplaceAll(eryxPackage, "==", "-"))
	venv := filepath.Join(dir, "bin", "python3")
	works := func() error { return output(ctx, venv, "-c", "import eryx") }
	if works() == nil {
		return venv, nil
	}
	err = errAbsent
	for _, python := range pythons {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if output(ctx, python, "-c", "import sys; sys.exit(sys.version_info < (3, 12))") != nil {
			continue
		}
		if err = os.RemoveAll(dir); err != nil {
			return "", err
		}
		err = errors.Join(
			output(ctx, python, "-m", "venv", dir),
			output(ctx, venv, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", eryxPackage),
		)
		if err == nil {
			if err = works(); err == nil {
				return venv, nil
			}
		}
	}
	return "", err
}

// output runs a command whose output matters only when it fails.
func output(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w%s", err, lastLine(string(out)))
	}
	return nil
}

// onEryx is a process with eryx in it that runs each program in a new sandbox.
// The time is its own: until the program has ended, without the way here.
func (h *hosts) onEryx(r role, code string, want said) contender {
	return contender{name: nameEryx, role: r, open: func(context.Context) (*opened, error) {
		if h.eryxErr != nil {
			return nil, h.eryxErr
		}
		t, err := h.eryx.with("fresh").talk()
		if err != nil {
			return nil, err
		}
		return &opened{close: t.close, sample: func(ctx context.Context) (sample, error) {
			var reply struct {
				Stdout, Error string
				MS            float64
			}
			err := t.ask(ctx, code, func(line []byte) (bool, error) { return true, json.Unmarshal(line, &reply) })
			if err == nil && reply.Error != "" {
				err = errors.New("eryx" + lastLine(reply.Error))
			}
			if err == nil {
				err = said{Stdout: reply.Stdout}.check(want)
			}
			return sample{Wall: time.Duration(reply.MS * float64(time.Millisecond))}, err
		}}, nil
	}}
}
