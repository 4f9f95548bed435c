package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// build builds the binary for each platform.
func (r *release) build(ctx context.Context) error {
	for _, p := range r.platforms {
		name := filepath.Join(r.out, "bin", p.OS+"_"+p.Arch, p.executable())
		name, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		args := append([]string{"build", "-buildvcs=false", "-o", name, "-ldflags", r.ldflags()}, r.goFlags...)
		cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/coderunner")...)
		cmd.Dir = r.root
		cmd.Env = append(append(os.Environ(), "GOOS="+p.OS, "GOARCH="+p.Arch), r.goEnv...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build for %s: %w", p, err)
		}
		if r.binaries[p], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	return nil
}

// ldflags strips the binary and sets what it knows of its release.
func (r *release) ldflags() string {
	flags := []string{"-s", "-w"}
	for _, v := range [][2]string{
		{"version", r.Version}, {"date", r.date.Format(time.DateOnly)},
		{"npmPackage", r.NPM}, {"pypiPackage", r.PyPI}, {"image", r.Image},
	} {
		flags = append(flags, "-X main."+v[0]+"="+v[1])
	}
	return strings.Join(flags, " ")
}

// cold has patterns of packages that no program's time passes in: their functions are not
// inlined, for a smaller binary (see RATIONALE.md). Of what two patterns match, the later
// one counts; hot has the exceptions.
const (
	cold = `net/... crypto/tls crypto/x509 encoding/xml encoding/asn1 encoding/csv encoding/pem debug/... archive/... mime/...
		text/... log/... go/... image/... html/... database/... os/... path/... testing/... regexp/syntax
		golang.org/x/net/... golang.org/x/crypto/... golang.org/x/text/... golang.org/x/image/... golang.org/x/arch/... golang.org/x/oauth2/...
		github.com/clipperhouse/... github.com/coreos/... github.com/dlclark/... github.com/dustin/... github.com/go-jose/...
		github.com/gobwas/... github.com/google/... github.com/itchyny/... github.com/klauspost/... github.com/mark3labs/... github.com/mattn/...
		github.com/minio/... github.com/mitchellh/... github.com/pelletier/... github.com/peterh/... github.com/rivo/... github.com/schollz/... github.com/soniakeys/...
		github.com/spf13/... github.com/tailscale/... github.com/tetratelabs/wazero/internal/engine/interpreter
		github.com/ulikunitz/... github.com/valyala/... github.com/VictoriaMetrics/... github.com/yosida95/...
		deps.dev/... go.uber.org/... go.yaml.in/... gopkg.in/... mvdan.cc/... vendor/...
		./cmd/... ./cache/... ./internal/... ./runners/... ./pyodide ./pyodide/dylink ./pyodide/tlsbio ./pyodide/jsffi ./pyodide/gofunc ./pyodide/libffi`
	hot = `./internal/machine/... ./internal/userland/glob ./internal/userland/printf ./internal/userland/regex ./internal/userland/shell/...
		./internal/userland/commands/awk ./internal/userland/commands/command ./internal/userland/commands/diff ./internal/userland/commands/jq
		./internal/userland/commands/sed ./internal/userland/commands/text ./runners/deno/jsparse ./runners/wasi/engine ./internal/preview1`
)

// sizeFlags are the flags for cold and hot.
func sizeFlags() (flags []string) {
	for pattern := range strings.FieldsSeq(cold) {
		flags = append(flags, "-gcflags="+pattern+"=-l")
	}
	for pattern := range strings.FieldsSeq(hot) {
		flags = append(flags, "-gcflags="+pattern+"=")
	}
	return flags
}
