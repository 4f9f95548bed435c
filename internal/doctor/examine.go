package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"coderunner/cache"
	"coderunner/cache/contents"
	"coderunner/internal/backend"
	"coderunner/internal/fetch"
	"coderunner/internal/sandbox"
	"coderunner/internal/versions"
	"coderunner/internal/worker"
	"coderunner/runners"
	"coderunner/runners/deno"
)

// examineLanguages runs 1 + 1 by each runtime.
func (r *Report) examineLanguages(ctx context.Context, cfg backend.Config) {
	cfg.Offline, cfg.RequireIsolation, cfg.Log = true, false, nil
	b, err := backend.Open(cfg)
	if err != nil {
		r.add("runners", false, err.Error(), r.fault("%v", err))
		return
	}
	defer b.Close()
	maps.Copy(r.Versions, b.Versions())
	r.Checks = append(r.Checks, Check{Name: r.Platform})
	for _, l := range []runners.Language{runners.JavaScript, runners.Python} {
		found, fix := Language{Language: l}, ""
		begun := time.Now()
		out, err := b.Runners[l].Run(ctx, runners.Request{Language: l, Code: "1 + 1", Limits: runners.Limits{Memory: cfg.Memory}.WithDefaults()})
		found.MS = time.Since(begun).Milliseconds()
		switch {
		case errors.Is(err, fetch.ErrOffline):
			found.Error = "its runtime is not fetched yet"
			fix = fmt.Sprintf("%s: the first run fetches and prepares the runtime; coderunner warm does so ahead of time", l)
		case err != nil:
			found.Error = err.Error()
			fix = r.fault("%s does not work: %v", l, err)
		case out.Status != runners.Succeeded || out.Result == nil || out.Result.Text != "2":
			found.Error = fmt.Sprintf("1 + 1 ended with status %s", out.Status)
			if out.Error != nil {
				found.Error += ": " + out.Error.Message
			}
			fix = r.fault("%s does not work: %s", l, found.Error)
		default:
			found.OK = true
		}
		r.Languages = append(r.Languages, found)
		r.add(string(l), found.OK, measured(found.OK, "1 + 1 in ", found.MS, found.Error), fix)
	}
}

// measured returns how long something took, or why it failed.
func measured(ok bool, what string, ms int64, problem string) string {
	if !ok {
		return problem
	}
	return fmt.Sprintf("%s%d ms", what, ms)
}

func (r *Report) examineCache(ctx context.Context, cfg backend.Config) {
	c, err := cache.Open(cfg.CacheDir)
	if err != nil {
		r.add("cache", false, err.Error(), r.fault("the cache cannot be used: %v", err))
		return
	}
	defer c.Close()
	fix := ""
	r.Cache.Path, r.Cache.Warning, r.Cache.Limit = c.Root(), c.Warning(), cfg.CacheSize
	if r.Cache.Warning != "" {
		fix = r.fault("%s", r.Cache.Warning)
	}
	entries, err := c.List(ctx)
	if err != nil {
		fix = r.fault("the cache cannot be read: %v", err)
	}
	r.Cache.Entries = len(entries)
	r.Cache.Bytes, r.Cache.Sessions = contents.Sizes(entries)
	r.add("cache", r.Cache.Warning == "", fmt.Sprintf("%s, %d entries, %s", r.Cache.Path, r.Cache.Entries, contents.Filled(r.Cache.Bytes, r.Cache.Limit)), fix)
}

// registryTimeout bounds the wait for one registry.
const registryTimeout = 10 * time.Second

// examineRegistries fetches from each registry something that it should have.
func (r *Report) examineRegistries(ctx context.Context, cfg backend.Config) {
	c := fetch.New(nil, fetch.Options{}) // documents are not kept
	defer c.Close()
	for _, registry := range []struct{ name, base, path, effect string }{
		{"npm", cfg.NPMRegistry, "pyodide/" + versions.PyodideVersion, "the runtimes and npm: packages cannot be fetched"},
		{"PyPI", cfg.PyPIIndex, "micropip/", "Python packages cannot be fetched"},
		{"Pyodide", cfg.PyodideBase, "pyodide-lock.json", "NumPy, pandas and other packages that only Pyodide builds cannot be fetched"},
	} {
		found, fix := Registry{Name: registry.name, URL: fetch.WithoutUser(registry.base)}, ""
		begun := time.Now()
		ctx, cancel := context.WithTimeout(ctx, registryTimeout)
		_, err := c.Get(ctx, strings.TrimSuffix(registry.base, "/")+"/"+registry.path, nil, 32<<20)
		cancel()
		found.MS = time.Since(begun).Milliseconds()
		if found.OK = err == nil; !found.OK {
			found.Error = err.Error()
			fix = fmt.Sprintf("%s is not reachable, so %s; what is cached works", registry.name, registry.effect)
		}
		r.Registries = append(r.Registries, found)
		r.add("registry "+found.Name, found.OK, found.URL+", "+measured(found.OK, "", found.MS, found.Error), fix)
	}
}

func (r *Report) examineIsolation(cfg backend.Config) {
	policy, err := runners.ParsePolicy(cfg.Permissions)
	if err != nil {
		r.add("permissions", false, strings.Join(cfg.Permissions, " "), r.fault("DENO_PERMISSION_ARGS: %v", err))
	}
	python, javascript, fix := sandbox.Level{Name: sandbox.Full}, deno.Confinement(policy), "" // WebAssembly is the same on every system
	r.Isolation.Python, r.Isolation.JavaScript, r.Isolation.Required = python, javascript, cfg.RequireIsolation
	if cfg.RequireIsolation && javascript.Name != sandbox.Full {
		fix = r.fault("CODE_RUNNER_ISOLATION=require, but the isolation of JavaScript is %s", javascript)
	}
	r.add("isolation of python", true, fmt.Sprintf("%s (WebAssembly, no JavaScript engine)", python), "")
	r.Isolation.Workers = worker.Confinement()
	r.add("isolation of workers", r.Isolation.Workers.Name == sandbox.Full, fmt.Sprintf("%s (the processes in which a server runs Python and bash)", r.Isolation.Workers), "")
	r.add("isolation of javascript", javascript.Name == sandbox.Full, fmt.Sprintf("%s (Deno's permissions, and the kernel's)", javascript), fix)
	for _, what := range javascript.InForce {
		r.Checks = append(r.Checks, Check{Name: what})
	}
	for _, warning := range policy.Warnings() {
		r.Checks = append(r.Checks, Check{Fix: warning})
	}
}
