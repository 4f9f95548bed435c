package process

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

// NoManifest is the variable that keeps Deno from reading package.json.
const NoManifest = "DENO_NO_PACKAGE_JSON="

// baseEnv returns the common environment of every Deno, with nothing inherited.
func (t *Tool) baseEnv(denoDir string) []string {
	env := []string{
		"DENO_DIR=" + denoDir,
		NoManifest + "1",
		"DENO_NO_UPDATE_CHECK=1",
		tlsVariable + "=system,mozilla",
		"NO_COLOR=1",
	}
	if t.Config.JSRURL != "" {
		env = append(env, "JSR_URL="+t.Config.JSRURL)
	}
	return env
}

// CertificateVariables are passed to programs that may use the network.
var CertificateVariables = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "DENO_CERT"}

// ProxyVariables are passed, too, unless they contain a password.
var ProxyVariables = []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "no_proxy", "all_proxy"}

// runEnv returns the environment of a program: the variables that the policy
// names and those that its other grants need. So every program may read it, and
// packages that look for a variable load. Hide has the names that are for Deno
// only, which the bootstrap unsets.
func (t *Tool) runEnv(p runners.Policy, denoDir, temp string) (env, hide []string) {
	env = t.baseEnv(denoDir)
	// Deno finds a registry's packages in its cache by the registry's URL.
	if registry := fetch.WithoutUser(t.Config.NPMRegistry); registry != "" {
		env = append(env, "NPM_CONFIG_REGISTRY="+registry)
	}
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); name != "NO_COLOR" && name != tlsVariable {
			hide = append(hide, name)
		}
	}
	if p.Net.Any() {
		// Deno reads these when it makes its first connection, so they stay.
		for _, name := range CertificateVariables {
			if v := t.Config.Env[name]; v != "" {
				env = append(env, name+"="+v)
			}
		}
		for _, name := range ProxyVariables {
			// A supervised program has no way to a proxy: our dialer takes it.
			if v := t.Config.Env[name]; v != "" && !strings.Contains(v, "@") && !Supervised(p) {
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

// PrepareEnv returns the environment of the trusted phase.
func (t *Tool) PrepareEnv() []string {
	env := t.baseEnv(t.DenoDir)
	if t.Config.NPMRegistry != "" {
		env = append(env, "NPM_CONFIG_REGISTRY="+t.Config.NPMRegistry)
	}
	for name, value := range t.Config.Env {
		if t.Config.Offline && slices.Contains(ProxyVariables, name) {
			continue
		}
		env = append(env, name+"="+value)
	}
	if t.Config.Offline {
		// Deno has no flag to stay offline, so every connection is refused.
		env = append(env, "HTTPS_PROXY="+nowhere, "HTTP_PROXY="+nowhere)
	}
	return env
}

// nowhere is a proxy that refuses connections: tcpmux, port 1, is long unused.
const nowhere = "http://127.0.0.1:1/"

// interceptEnv returns the variables by which a program uses secrets, and trusts who
// puts them in.
func (in *Instance) interceptEnv() (env []string) {
	i := in.Config.Network.Intercept
	if i == nil || !Supervised(in.policy()) {
		return nil
	}
	in.Interceptor = i.Begin(nil)
	for name, value := range in.Interceptor.Environment() {
		env = append(env, name+"="+value)
	}
	return append(env, "DENO_CERT="+in.RunDirs.root())
}
