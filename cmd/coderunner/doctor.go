package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/sandbox"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/deno"
)

// diagnosis is what the doctor finds, and what doctor --json prints.
type diagnosis struct {
	OK       bool              `json:"ok"`
	Platform string            `json:"platform"`
	Versions map[string]string `json:"versions"`
	Cache    struct {
		Path     string `json:"path"`
		Warning  string `json:"warning,omitempty"`
		Entries  int    `json:"entries"`
		Bytes    int64  `json:"bytes"`
		Sessions int64  `json:"session_bytes"`
		Limit    int64  `json:"limit_bytes"`
	} `json:"cache"`
	Registries []registryCheck `json:"registries"`
	Languages  []languageCheck `json:"languages"`
	Isolation  struct {
		Python     sandbox.Level `json:"python"`
		JavaScript sandbox.Level `json:"javascript"`
		Required   bool          `json:"required"`
	} `json:"isolation"`
	Permissions []string `json:"permissions"`
	Advice      []string `json:"advice"`
}

type registryCheck struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	OK    bool   `json:"ok"`
	MS    int64  `json:"ms"`
	Error string `json:"error,omitempty"`
}

type languageCheck struct {
	Language runners.Language `json:"language"`
	OK       bool             `json:"ok"`
	MS       int64            `json:"ms"`
	Error    string           `json:"error,omitempty"`
}

func newDoctor(cfg *Config) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what works, what does not and what to do",
		Long:  "Show what works, what does not and what to do. Nothing is fetched but one small\ndocument from each registry.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := examine(cmd.Context(), *cfg)
			if asJSON {
				out := json.NewEncoder(os.Stdout)
				out.SetIndent("", "  ")
				if err := out.Encode(d); err != nil {
					return err
				}
			} else {
				d.print(os.Stdout)
			}
			if !d.OK {
				return &exitError{1}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

// examine looks at everything. Runtimes are not fetched: they are asked
// offline.
func examine(ctx context.Context, cfg Config) *diagnosis {
	d := &diagnosis{OK: true, Platform: runtime.GOOS + "/" + runtime.GOARCH, Versions: map[string]string{"coderunner": ownVersion()},
		Permissions: append([]string{}, cfg.Permissions...), Advice: []string{}}
	required := cfg.Isolation == isolationRequire
	policy, err := runners.ParsePolicy(cfg.Permissions)
	if err != nil {
		d.fault("DENO_PERMISSION_ARGS: %v", err)
	}
	d.Advice = append(d.Advice, policy.Warnings()...)
	d.Isolation.Python = sandbox.Level{Name: sandbox.Full} // WebAssembly, on every system
	d.Isolation.JavaScript = deno.Confinement(policy)
	d.Isolation.Required = required
	if required && d.Isolation.JavaScript.Name != sandbox.Full {
		d.fault("CODE_RUNNER_ISOLATION=require, but the isolation of JavaScript is %s", d.Isolation.JavaScript)
	}
	d.examineCache(ctx, cfg)
	if !cfg.Offline {
		d.examineRegistries(ctx, cfg)
	}
	cfg.Isolation = ""
	d.examineLanguages(ctx, cfg)
	return d
}

func (d *diagnosis) fault(format string, a ...any) {
	d.OK = false
	d.Advice = append(d.Advice, fmt.Sprintf(format, a...))
}

func (d *diagnosis) examineCache(ctx context.Context, cfg Config) {
	c, err := cache.Open(cfg.CacheDir)
	if err != nil {
		d.fault("the cache cannot be used: %v", err)
		return
	}
	defer c.Close()
	d.Cache.Path, d.Cache.Warning, d.Cache.Limit = c.Root(), c.Warning(), cfg.CacheSize
	entries, err := c.List(ctx)
	if err != nil {
		d.fault("the cache cannot be read: %v", err)
	}
	d.Cache.Entries = len(entries)
	d.Cache.Bytes, d.Cache.Sessions = countedSize(entries)
	if d.Cache.Warning != "" {
		d.fault("%s", d.Cache.Warning)
	}
}

// registryTimeout bounds the wait for one registry.
const registryTimeout = 10 * time.Second

// examineRegistries fetches from each registry something that it should have.
func (d *diagnosis) examineRegistries(ctx context.Context, cfg Config) {
	c := fetch.New(nil, fetch.Options{}) // documents are not kept
	defer c.Close()
	for _, r := range []struct{ name, base, path, effect string }{
		{"npm", cfg.NPMRegistry, "pyodide/" + versions.PyodideVersion, "the runtimes and npm: packages cannot be fetched"},
		{"PyPI", cfg.PyPIIndex, "micropip/", "Python packages cannot be fetched"},
		{"Pyodide", cfg.PyodideBase, "pyodide-lock.json", "NumPy, pandas and other packages that only Pyodide builds cannot be fetched"},
	} {
		if r.base == "" {
			continue
		}
		check := registryCheck{Name: r.name, URL: fetch.WithoutUser(r.base)}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(ctx, registryTimeout)
		_, err := c.Get(ctx, strings.TrimSuffix(r.base, "/")+"/"+r.path, nil, 32<<20)
		cancel()
		check.MS = time.Since(begun).Milliseconds()
		if check.OK = err == nil; !check.OK {
			check.Error = err.Error()
			d.Advice = append(d.Advice, fmt.Sprintf("%s is not reachable, so %s; what is cached works", r.name, r.effect))
		}
		d.Registries = append(d.Registries, check)
	}
}

// examineLanguages runs 1 + 1 in each language.
func (d *diagnosis) examineLanguages(ctx context.Context, cfg Config) {
	cfg.Offline = true
	b, err := openBackend(cfg, "", 0, zap.NewNop())
	if err != nil {
		d.fault("%v", err)
		return
	}
	defer b.Close()
	for _, r := range b.all() {
		maps.Copy(d.Versions, r.Versions())
	}
	for language, r := range b.languages() {
		if language != runners.Python && language != runners.JavaScript {
			continue // the others are Deno's, too
		}
		check := languageCheck{Language: language}
		begun := time.Now()
		o, err := r.Run(ctx, runners.Request{Language: language, Code: "1 + 1", Limits: cfg.Limits})
		check.MS = time.Since(begun).Milliseconds()
		switch {
		case errors.Is(err, fetch.ErrOffline):
			check.Error = "its runtime is not fetched yet"
			d.Advice = append(d.Advice, fmt.Sprintf("%s: the first run fetches and prepares the runtime; coderunner warm does so ahead of time", language))
		case err != nil:
			check.Error = err.Error()
			d.fault("%s does not work: %v", language, err)
		case o.Status != runners.Succeeded || o.Result == nil || o.Result.Text != "2":
			check.Error = fmt.Sprintf("1 + 1 ended with status %s", o.Status)
			if o.Error != nil {
				check.Error += ": " + o.Error.Message
			}
			d.fault("%s does not work: %s", language, check.Error)
		default:
			check.OK = true
		}
		d.Languages = append(d.Languages, check)
	}
	slices.SortFunc(d.Languages, func(a, b languageCheck) int { return strings.Compare(string(a.Language), string(b.Language)) })
}

// print prints the findings for a person.
func (d *diagnosis) print(w io.Writer) {
	mark := func(ok bool) string {
		if ok {
			return "ok  "
		}
		return "no  "
	}
	for _, name := range slices.Sorted(maps.Keys(d.Versions)) {
		fmt.Fprintf(w, "      %s %s\n", name, d.Versions[name])
	}
	fmt.Fprintf(w, "      %s\n", d.Platform)
	for _, l := range d.Languages {
		text := fmt.Sprintf("1 + 1 in %d ms", l.MS)
		if !l.OK {
			text = l.Error
		}
		fmt.Fprintf(w, "%s  %s: %s\n", mark(l.OK), l.Language, text)
	}
	fmt.Fprintf(w, "%s  cache: %s, %d entries, %s%s\n", mark(d.Cache.Path != "" && d.Cache.Warning == ""), d.Cache.Path, d.Cache.Entries, humanSize(d.Cache.Bytes), ofLimit(d.Cache.Limit))
	for _, r := range d.Registries {
		text := fmt.Sprintf("%d ms", r.MS)
		if !r.OK {
			text = r.Error
		}
		fmt.Fprintf(w, "%s  registry %s: %s, %s\n", mark(r.OK), r.Name, r.URL, text)
	}
	fmt.Fprintf(w, "%s  isolation of python: %s (WebAssembly, no JavaScript engine)\n", mark(true), d.Isolation.Python)
	fmt.Fprintf(w, "%s  isolation of javascript: %s (Deno's permissions, and the kernel's)\n", mark(d.Isolation.JavaScript.Name == sandbox.Full), d.Isolation.JavaScript)
	for _, what := range d.Isolation.JavaScript.InForce {
		fmt.Fprintf(w, "      %s\n", what)
	}
	for _, a := range d.Advice {
		fmt.Fprintf(w, "hint: %s\n", a)
	}
}
