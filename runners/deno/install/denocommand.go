package install

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"

	"go.uber.org/zap"
)

// Preparation is one command of the trusted phase. It runs nothing of what it
// fetches: without --allow-scripts, Deno runs no lifecycle scripts such as postinstall.
type Preparation struct {
	Binary        string
	command       []string // "cache", or "info" and its flags
	lock, imports string   // files, "" for none
	frozen        bool     // the lock file may not change
	Offline       bool     // nothing is fetched
	manifest      bool     // dir has a package.json with overrides
	Dir           string   // the working directory
	What          string   // a file or a specifier
	downloaded    func(address string)
}

// deno runs a command of the trusted phase. Message is Deno's error message, ""
// on success; err is an error of the host.
func (t *Installer) deno(ctx context.Context, p Preparation) (stdout []byte, message string, err error) {
	args, env := append(p.command, "--no-config"), t.PrepareEnv()
	if p.manifest {
		args = append(p.command, "--config="+filepath.Join(p.Dir, process.ConfigName), "--node-modules-dir=none")
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, process.NoManifest) })
	}
	staging := ""
	if p.lock != "" {
		args = append(args, "--lock="+p.lock)
		if p.frozen {
			args = append(args, "--frozen")
		} else {
			staging = p.Dir
		}
	} else {
		args = append(args, "--no-lock")
	}
	if p.imports != "" {
		args = append(args, "--import-map="+p.imports)
	}
	if p.Offline {
		args = append(args, "--no-npm", "--no-remote")
	} else {
		args = append(args, process.ImportFlags(t.Config.Policy, t.Config.JSRURL)...)
	}
	args = append(args, p.What) // never looks like a flag
	if _, err := os.Lstat(t.DenoDir); errors.Is(err, os.ErrNotExist) {
		// The cache was cleared meanwhile. A confined process cannot make its root.
		if err := process.MakeDenoDir(t.DenoDir); err != nil {
			return nil, "", err
		}
	}
	spec := t.Spec(p.Binary, p.Dir, staging)
	spec.Network = !p.Offline
	answer, printed := new(bytes.Buffer), runners.NewCapture(64<<10)
	state, err := osprocess.Run(ctx,
		osprocess.Command{Path: p.Binary, Args: args, Dir: p.Dir, Env: env, Spec: spec},
		func(stdout io.Reader) {
			_, _ = io.Copy(answer, io.LimitReader(stdout, maxAnswer))
			_, _ = io.Copy(io.Discard, stdout)
		},
		func(stderr io.Reader) { readLines(stderr, printed, p.downloaded) })
	if err != nil {
		return nil, "", fmt.Errorf("fetch packages: %w", err)
	}
	if state.Success() {
		return answer.Bytes(), "", nil
	}
	text, _ := printed.Text()
	t.Log.Debug("packages cannot be installed", zap.String("what", p.What), zap.String("stderr", text))
	if text = strings.TrimSpace(text); text == "" {
		text = fmt.Sprintf("deno %s: %v", p.command[0], state)
	}
	return nil, text, nil
}

// maxAnswer bounds the output of "deno info" that is read, in bytes.
const maxAnswer = 64 << 20

// Info returns what "deno info" reports about the modules that a file imports.
func (t *Installer) Info(ctx context.Context, p Preparation) (*deps.Info, error) {
	p.command, p.downloaded = []string{"info", "--json"}, func(string) {}
	stdout, message, err := t.deno(ctx, p)
	if err != nil {
		return nil, err
	}
	if message != "" {
		return nil, errors.New(deps.FirstError(message))
	}
	info, err := deps.ParseInfo(stdout)
	if err != nil {
		return nil, fmt.Errorf("read the answer of deno info: %w", err)
	}
	return info, nil
}

// readLines calls downloaded for each download that Deno reports, and copies the
// other lines to w.
func readLines(f io.Reader, w *runners.Capture, downloaded func(string)) {
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if address, ok := bytes.CutPrefix(line, []byte("Download ")); ok {
			downloaded(string(bytes.TrimSpace(address)))
		} else if _, werr := w.Write(line); errors.Is(werr, runners.ErrFlood) {
			_, _ = lines.WriteTo(io.Discard)
			return
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
