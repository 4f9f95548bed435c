package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"coderunner/runners"
)

func newLock(cfg *Config) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "lock [flags] FILE",
		Short: "Write the packages that a program uses into the program",
		Long: "Write the packages that a program uses, as they are today, into the program;\n" +
			"\"run --locked\" then takes nothing else. The program is not run.\n\n" +
			"Python: name, version, source and SHA-256 of every package go into the program's\n" +
			"script block (PEP 723), as lock of [tool.coderunner]. What the program installs\n" +
			"by micropip.install is not known before it runs: name it in dependencies.\n\n" +
			"JavaScript and TypeScript: the versions go into the npm: and jsr: specifiers of\n" +
			"the program's imports, and Deno's lock file, which also has the packages that\n" +
			"those need, with their digests, into comments at the program's end.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return lockFile(cmd.Context(), *cfg, o, args[0]) },
	}
	cmd.Flags().StringVarP(&o.language, "language", "l", "", "python, javascript or typescript")
	cmd.Flags().StringArrayVarP(&o.packages, "package", "p", nil, "a requirement that the program does not name itself; may be repeated")
	return cmd
}

// replaceFile writes a file in one step.
func replaceFile(file, text string, mode os.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), ".lock-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

func lockFile(ctx context.Context, cfg Config, o runOptions, file string) error {
	if file == "-" {
		return errors.New("lock: give a file, which is changed")
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	req, err := newRequest(cfg, o, file, nil)
	if err != nil {
		return err
	}
	b, err := openBackend(cfg, req.Language, 0, newLogger(zap.WarnLevel))
	if err != nil {
		return err
	}
	text, n, err := locked(ctx, b, req)
	if err = errors.Join(err, b.Close()); err != nil {
		return fmt.Errorf("lock %s: %w", file, err)
	}
	if text != req.Code {
		if err := replaceFile(file, text, info.Mode().Perm()); err != nil {
			return fmt.Errorf("lock %s: %w", file, err)
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %d packages locked\n", file, n)
	return nil
}

// locked gives the program with its lock, and the number of packages in it.
func locked(ctx context.Context, b *backend, req runners.Request) (string, int, error) {
	p := b.languages()[req.Language]
	if req.Language != runners.Python {
		var err error
		if req.Code, err = pinned(ctx, p, req); err != nil {
			return "", 0, err
		}
	}
	l, err := lock(ctx, p, req)
	if err != nil {
		return "", 0, err
	}
	return l.Text, len(l.Packages), nil
}

// lock calls a runner's Lock and shows its progress.
func lock(ctx context.Context, p runners.Runner, req runners.Request) (*runners.Locked, error) {
	defer showProgress(&req)()
	return p.Lock(ctx, req)
}

// specifierPattern finds what JavaScript and TypeScript import by a literal.
var specifierPattern = regexp.MustCompile(`\b(?:from|import)(?:\s*\(\s*|\s*)["']([^"'\s\\]+)["']`)

// packageSpecifier takes apart the name of a package: registry, name, version
// and path inside it. The registry is missing in bare specifiers.
var packageSpecifier = regexp.MustCompile(`^(npm:|jsr:)?/?((?:@[\w.-]+/)?[A-Za-z0-9_][\w.-]*)(?:@([^/@]+))?(/.*)?$`)

// exactVersion is a whole version, no range and no tag.
var exactVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$`)

// specifiers gives where in a program the names of packages are.
func specifiers(code string) [][]int {
	var found [][]int
	for _, at := range specifierPattern.FindAllStringSubmatchIndex(code, -1) {
		m := packageSpecifier.FindStringSubmatch(code[at[2]:at[3]])
		if m == nil || isBuiltin(m[2]) {
			continue
		}
		found = append(found, at[2:4])
	}
	return found
}

// builtins are Node's modules that programs import without "node:".
var builtins = strings.Fields(`assert async_hooks buffer child_process cluster console constants crypto dgram
	diagnostics_channel dns domain events fs http http2 https inspector module net os path perf_hooks process
	punycode querystring readline repl stream string_decoder sys timers tls trace_events tty url util v8 vm
	wasi worker_threads zlib`)

func isBuiltin(name string) bool {
	for _, b := range builtins {
		if name == b {
			return true
		}
	}
	return false
}

// pinned gives the JavaScript or TypeScript program with the versions that its
// specifiers stand for. They are found by a program that names the same ones.
func pinned(ctx context.Context, p runners.Runner, req runners.Request) (string, error) {
	var probe strings.Builder
	places := specifiers(req.Code)
	for _, at := range places {
		fmt.Fprintf(&probe, "if (false) await import(%q);\n", req.Code[at[0]:at[1]])
	}
	if len(places) == 0 {
		return req.Code, nil
	}
	asked := req
	asked.Code = probe.String()
	l, err := lock(ctx, p, asked)
	if err != nil {
		return "", err
	}
	text := req.Code
	for i := len(places) - 1; i >= 0; i-- {
		from, to := places[i][0], places[i][1]
		exact, err := pin(text[from:to], l.Packages)
		if err != nil {
			return "", err
		}
		text = text[:from] + exact + text[to:]
	}
	return text, nil
}

// pin writes the version that a specifier came to into it.
func pin(specifier string, packages []runners.Package) (string, error) {
	m := packageSpecifier.FindStringSubmatch(specifier)
	registry, name, version, path := m[1], m[2], m[3], m[4]
	if exactVersion.MatchString(version) {
		return specifier, nil
	}
	source := strings.TrimSuffix(registry, ":")
	if source == "" {
		source, registry = "npm", "npm:"
	}
	var versions []string
	for _, p := range packages {
		if p.Name == name && p.Source == source {
			versions = append(versions, p.Version)
		}
	}
	switch len(versions) {
	case 0:
		return "", fmt.Errorf("%s: no package was found for it", specifier)
	case 1:
		return registry + name + "@" + versions[0] + path, nil
	}
	return "", fmt.Errorf("%s: the program comes to have %s in the versions %s; write the one that you want", specifier, name, strings.Join(versions, " and "))
}

// checkPinned refuses a JavaScript or TypeScript program that names a package
// without its version.
func checkPinned(req runners.Request) error {
	var loose []string
	names := append([]string(nil), req.Packages...)
	for _, at := range specifiers(req.Code) {
		names = append(names, req.Code[at[0]:at[1]])
	}
	for _, at := range specifierPattern.FindAllStringSubmatchIndex(req.Code, -1) {
		if s := req.Code[at[2]:at[3]]; strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "https:") {
			return fmt.Errorf("--locked: the program imports %s, and a URL does not say what it has: import a package", s)
		}
	}
	for _, s := range names {
		if m := packageSpecifier.FindStringSubmatch(s); m == nil || m[1] == "" || !exactVersion.MatchString(m[3]) {
			loose = append(loose, s)
		}
	}
	if len(loose) > 0 {
		return fmt.Errorf("--locked: no exact version: %s; write them with \"coderunner lock FILE\"", strings.Join(loose, ", "))
	}
	return nil
}
