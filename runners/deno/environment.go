package deno

import (
	"os"
	"slices"
	"strings"

	"coderunner/internal/fetch"
	"coderunner/runners"
)

// tlsVariable names Deno's certificate stores. Without it a clean environment
// would break TLS behind a private authority.
const tlsVariable = "DENO_TLS_CA_STORE"

// noManifest is the variable that keeps Deno from reading package.json.
const noManifest = "DENO_NO_PACKAGE_JSON="

// baseEnv returns the common environment of every Deno, with nothing inherited.
func (t *tool) baseEnv(denoDir string) []string {
	env := []string{
		"DENO_DIR=" + denoDir,
		noManifest + "1",
		"DENO_NO_UPDATE_CHECK=1",
		tlsVariable + "=system,mozilla",
		"NO_COLOR=1",
	}
	if t.cfg.JSRURL != "" {
		env = append(env, "JSR_URL="+t.cfg.JSRURL)
	}
	return env
}

// certificateVariables are passed to programs that may use the network.
var certificateVariables = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "DENO_CERT"}

// proxyVariables are passed, too, unless they contain a password.
var proxyVariables = []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "no_proxy", "all_proxy"}

// runEnv returns the environment of a program: the variables that the policy
// names and those that its other grants need. So every program may read it, and
// packages that look for a variable load. Hide has the names that are for Deno
// only, which the bootstrap unsets.
func (t *tool) runEnv(p runners.Policy, denoDir, temp string) (env, hide []string) {
	env = t.baseEnv(denoDir)
	// Deno finds a registry's packages in its cache by the registry's URL.
	if registry := fetch.WithoutUser(t.cfg.NPMRegistry); registry != "" {
		env = append(env, "NPM_CONFIG_REGISTRY="+registry)
	}
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); name != "NO_COLOR" && name != tlsVariable {
			hide = append(hide, name)
		}
	}
	if p.Net.Any() {
		// Deno reads these when it makes its first connection, so they stay.
		for _, name := range certificateVariables {
			if v := t.cfg.Env[name]; v != "" {
				env = append(env, name+"="+v)
			}
		}
		for _, name := range proxyVariables {
			// A supervised program has no way to a proxy: our dialer takes it.
			if v := t.cfg.Env[name]; v != "" && !strings.Contains(v, "@") && !supervised(p) {
				env = append(env, name+"="+v)
			}
		}
	} else {
		hide = append(hide, tlsVariable)
	}
	hide = append(hide, "DENO_NODE_SHIM_ACTIVE") // Deno sets it itself
	env = append(env, "TMPDIR="+temp)
	if path := os.Getenv("PATH"); path != "" && p.Run.Any() {
		env = append(env, "PATH="+path) // to find programs by their names
	} else {
		env = append(env, "PATH=/usr/bin:/bin") // packages split it, and Deno looks there before it refuses
	}
	if tz := os.Getenv("TZ"); tz != "" {
		env = append(env, "TZ="+tz)
	}
	for _, name := range p.Env.List {
		if v, ok := os.LookupEnv(name); ok && p.HostEnv(name) {
			env = append(env, name+"="+v) // the last one counts
			hide = slices.DeleteFunc(hide, func(h string) bool { return h == name })
		}
	}
	return env, hide
}

// prepareEnv returns the environment of the trusted phase.
func (t *tool) prepareEnv() []string {
	env := t.baseEnv(t.denoDir)
	if t.cfg.NPMRegistry != "" {
		env = append(env, "NPM_CONFIG_REGISTRY="+t.cfg.NPMRegistry)
	}
	for name, value := range t.cfg.Env {
		if t.cfg.Offline && slices.Contains(proxyVariables, name) {
			continue
		}
		env = append(env, name+"="+value)
	}
	if t.cfg.Offline {
		// Deno has no flag to stay offline, so every connection is refused.
		env = append(env, "HTTPS_PROXY="+nowhere, "HTTP_PROXY="+nowhere)
	}
	return env
}

// nowhere is a proxy that refuses connections: tcpmux, port 1, is long unused.
const nowhere = "http://127.0.0.1:1/"

// interceptEnv returns the variables by which a program uses secrets, and trusts who
// puts them in.
func (in *instance) interceptEnv() (env []string) {
	i := in.cfg.Network.Intercept
	if i == nil || !supervised(in.policy()) {
		return nil
	}
	for name, value := range i.Environment() {
		env = append(env, name+"="+value)
	}
	return append(env, "DENO_CERT="+in.runDirs.root())
}
