package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/shlex"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"coderunner/internal/backend"
	"coderunner/internal/fetch"
	"coderunner/internal/intercept"
	"coderunner/internal/server"
	"coderunner/internal/session"
	"coderunner/runners"
)

// Config is the configuration: flags, environment, defaults.
type Config struct {
	backend.Config
	Limits      runners.Limits
	Concurrency int  // 0: as many as the machine has memory for
	Ask         bool // users may be asked about hosts
	Workers     int  // of a server
	Structured  server.Structured
	HTTP        httpConfig // of serve
	Trace       string     // a file; "": none
	Tools       string     // a file or a client's name; "": none
	SearchTools bool       // a server offers search_tools
}

// open opens the runner of a language, or those of all if it is "".
func (c Config) open(only runners.Language, log *zap.Logger) (*backend.Backend, error) {
	c.Only, c.Log = only, log
	return backend.Open(c.Config)
}

// defaultWorkers is how many processes run the programs of a client at a time.
const defaultWorkers = 4

// setting is one variable and the flag of the same name.
type setting struct {
	env, flag, usage string
	set              func(c *Config, value string) error
}

// settings are all there are. Flags win over the environment, and an empty
// variable is as good as none.
var settings = []setting{
	{"DENO_PERMISSION_ARGS", "deno-permission-args", "permissions of programs in all languages, as Deno's flags", setPermissions},
	{"CODE_RUNNER_ASK", "ask", "let clients that can ask their user whether a program may connect to a host without permission, for one run (default true)", setBool(func(c *Config) *bool { return &c.Ask })},
	{"CODE_RUNNER_SECRETS", "secrets", "variables whose values programs can use and not see, each with its host: API_KEY=api.example.com puts it into headers and URLs, API_KEY=api.example.com+body into bodies, too", setSecrets},
	{"CODE_RUNNER_TOOLS", "tools", "file with MCP servers whose tools programs may call, as clients have it, or the name of a client whose file has them", func(c *Config, v string) error { c.Tools = v; return nil }},
	{"CODE_RUNNER_SEARCH_TOOLS", "search-tools", "have a server offer search_tools, by which a client's model finds the tools of --tools without a program (default false)", setBool(func(c *Config) *bool { return &c.SearchTools })},
	{"CODE_RUNNER_CACHE_DIR", "cache-dir", "cache directory (default: in the user's cache directory)", func(c *Config, v string) error { c.CacheDir = v; return nil }},
	{"CODE_RUNNER_BUNDLE", "bundle", "directory that coderunner bundle made, from which the cache takes what it lacks (default: " + bundleName + " beside the binary, if it is there)", setBundle},
	{"CODE_RUNNER_CACHE_SIZE", "cache-size", fmt.Sprintf("size the cache is kept under, least recently used first; 0 is no limit (default %dGiB)", backend.DefaultCacheSize>>30), within(func(c *Config) *int64 { return &c.CacheSize }, parseSize, 0, math.MaxInt64, "a size such as 5GiB, or 0 for no limit")},
	{"CODE_RUNNER_TIMEOUT", "timeout", fmt.Sprintf("time limit of a run (default %v)", runners.DefaultTimeout), within(func(c *Config) *time.Duration { return &c.Limits.Timeout }, parseSeconds, runners.MinTimeout, runners.MaxTimeout,
		fmt.Sprintf("a time between %v and %v, such as 30, 30s or 2m", runners.MinTimeout, runners.MaxTimeout))},
	{"CODE_RUNNER_MEMORY", "memory", fmt.Sprintf("memory limit of a run (default %dMiB)", runners.DefaultMemory>>20), within(func(c *Config) *int64 { return &c.Limits.Memory }, parseSize, runners.MinMemory, runners.MaxMemory,
		fmt.Sprintf("a size between %dMiB and %dGiB, such as 512MiB", runners.MinMemory>>20, runners.MaxMemory>>30))},
	{"CODE_RUNNER_MAX_OUTPUT", "max-output", fmt.Sprintf("bytes kept of each output stream (default %d)", runners.DefaultOutput), within(func(c *Config) *int64 { return &c.Limits.Output }, parseSize, runners.MinOutput, runners.MaxOutput,
		fmt.Sprintf("a number of bytes between %d and %dMiB, such as 50000", runners.MinOutput, runners.MaxOutput>>20))},
	{"CODE_RUNNER_CONCURRENCY", "concurrency", "programs at once (default: cores × 4, fewer on machines with little memory)", within(func(c *Config) *int { return &c.Concurrency }, strconv.Atoi, 1, 1000, "a number between 1 and 1000")},
	{"CODE_RUNNER_WORKERS", "workers", fmt.Sprintf("processes of a server in which each client's programs of Python and bash run, at most; 0 runs them in the server (default %d)", defaultWorkers), within(func(c *Config) *int { return &c.Workers }, strconv.Atoi, 0, 100, "a number between 0 and 100")},
	{"CODE_RUNNER_STRUCTURED", "structured", "whether clients get structured content: auto, always or never (default auto)", setStructured},
	{"CODE_RUNNER_SESSION_DIR", "session-dir", "directory of the sessions (default: in the cache directory)", func(c *Config, v string) error { c.SessionDir = v; return nil }},
	{"CODE_RUNNER_SESSION_STORE", "session-store", "S3-compatible store of the sessions that several machines share, s3://BUCKET/PREFIX; AWS_ENDPOINT_URL and credentials as AWS's tools have them", setSessionStore},
	{"CODE_RUNNER_SESSIONS", "sessions", fmt.Sprintf("sessions there may be (default %d)", session.DefaultLimits.Sessions), within(func(c *Config) *int { return &c.SessionLimits.Sessions }, strconv.Atoi, 1, 1_000_000, "a number between 1 and 1000000")},
	{"CODE_RUNNER_SESSION_SIZE", "session-size", fmt.Sprintf("size of a session, with its history (default %dGiB)", session.DefaultLimits.Size>>30), within(func(c *Config) *int64 { return &c.SessionLimits.Size }, parseSize, 1<<20, math.MaxInt64, "a size of at least 1MiB, such as 2GiB")},
	{"CODE_RUNNER_SESSION_DISK", "session-disk", fmt.Sprintf("size of all sessions (default %dGiB)", session.DefaultLimits.Bytes>>30), within(func(c *Config) *int64 { return &c.SessionLimits.Bytes }, parseSize, 1<<20, math.MaxInt64, "a size of at least 1MiB, such as 2GiB")},
	{"CODE_RUNNER_SESSION_HISTORY", "session-history", fmt.Sprintf("states of a session that can be gone back to (default %d)", session.DefaultLimits.History), within(func(c *Config) *int { return &c.SessionLimits.History }, strconv.Atoi, 1, 1_000_000, "a number between 1 and 1000000")},
	{"CODE_RUNNER_SESSION_TTL", "session-ttl", fmt.Sprintf("time after which an unused session is removed (default %v)", session.DefaultLimits.TTL), within(func(c *Config) *time.Duration { return &c.SessionLimits.TTL }, time.ParseDuration, time.Minute, math.MaxInt64, "a time of at least 1m, such as 168h")},
	{"CODE_RUNNER_OFFLINE", "offline", "fetch nothing", setBool(func(c *Config) *bool { return &c.Offline })},
	{"CODE_RUNNER_DENO", "deno", "a Deno to use instead of the pinned one", func(c *Config, v string) error { c.Deno = v; return nil }},
	{"CODE_RUNNER_HOST_LANGUAGES", "host-languages", "languages whose interpreter the host has, such as perl,ruby or lua=/opt/lua/bin/lua", func(c *Config, v string) error { c.HostLanguages = strings.Split(v, ","); return nil }},
	{"CODE_RUNNER_LANGUAGES", "languages", "languages that run in WebAssembly besides Python, of " + languageNames(runners.GuestLanguages) + "; none for no other (default: all)", setLanguages},
	{"CODE_RUNNER_ISOLATION", "isolation", "\"require\" refuses to run where programs cannot be confined fully (see coderunner doctor)", setIsolation},
	{"CODERUNNER_TRACE", "trace", "file to write to what the command spends its time on, for Chrome's trace viewer or Perfetto", func(c *Config, v string) error { c.Trace = v; return nil }},
	{"NPM_CONFIG_REGISTRY", "npm-config-registry", "npm registry", setURL(false, func(c *Config) *string { return &c.NPMRegistry })},
	{"JSR_URL", "jsr-url", "JSR registry", setURL(false, func(c *Config) *string { return &c.JSRURL })},
	{"PIP_INDEX_URL", "pip-index-url", "Python package index", setURL(true, func(c *Config) *string { return &c.PyPIIndex })},
	{"PYODIDE_PACKAGE_BASE_URL", "pyodide-package-base-url", "where Pyodide's own packages are", setURL(true, func(c *Config) *string { return &c.PyodideBase })},
}

// addFlags adds the flags of settings.
func addFlags(flags *pflag.FlagSet, settings []setting) {
	for _, s := range settings {
		flags.String(s.flag, "", s.usage+" ["+s.env+"]")
		if s.flag == "offline" || s.flag == "search-tools" || s.flag == "http-plaintext" {
			flags.Lookup(s.flag).NoOptDefVal = "true"
		}
	}
}

// permissionFlag is a flag of Deno's, --allow-net=example.com: one more argument
// in the setting of all permissions.
type permissionFlag struct {
	name  string
	flags *pflag.FlagSet
}

func (f permissionFlag) String() string { return "" }
func (f permissionFlag) Type() string   { return "bool" } // so that its value may be left out, and is "true" then
func (f permissionFlag) Set(v string) error {
	arg := "--" + f.name
	if v != "true" {
		arg += "=" + v
	}
	if strings.ContainsAny(arg, " \t\n\"'\\#") {
		arg = "'" + strings.ReplaceAll(arg, "'", `'"'"'`) + "'"
	}
	all := f.flags.Lookup("deno-permission-args")
	return f.flags.Set(all.Name, strings.TrimSpace(all.Value.String()+" "+arg))
}

// permissionUsage are the permission flags that the help shows.
var permissionUsage = map[string]string{
	"allow-net":   "let programs connect to `HOSTS`, such as api.example.com,10.0.0.1:5432; without a list, to all",
	"allow-read":  "let programs read these `PATHS`",
	"allow-write": "let programs write these `PATHS`",
	"allow-env":   "let programs see these `VARIABLES`",
}

// addPermissionFlags adds the flags that Deno has for permissions.
func addPermissionFlags(flags *pflag.FlagSet) {
	add := func(name, shorthand string) {
		f := flags.VarPF(permissionFlag{name, flags}, name, shorthand, permissionUsage[name])
		f.NoOptDefVal, f.Hidden = "true", f.Usage == ""
	}
	add("allow-all", "A")
	for _, kind := range []string{"read", "write", "net", "env", "run", "sys", "ffi", "import"} {
		add("allow-"+kind, "")
		add("deny-"+kind, "")
	}
}

// readConfig reads the flags, then the environment, then the defaults.
func readConfig(flags *pflag.FlagSet) (Config, error) {
	c := Config{Config: backend.Config{CacheSize: backend.DefaultCacheSize, Version: ownVersion()}.WithDefaults(), Ask: true, Workers: defaultWorkers}
	c.HTTP.Drain = defaultDrain
	for _, s := range slices.Concat(settings, httpSettings) {
		name, value := s.env, os.Getenv(s.env)
		if f := flags.Lookup(s.flag); f != nil && f.Changed {
			name, value = "--"+s.flag, f.Value.String()
		}
		if value == "" {
			continue
		}
		if err := s.set(&c, value); err != nil {
			return Config{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if c.Bundle == "" {
		c.Bundle = bundleBeside()
	}
	c.Limits = c.Limits.WithDefaults()
	c.Memory = c.Limits.Memory
	return c, nil
}

func setPermissions(c *Config, v string) error {
	args, err := shlex.Split(v)
	if err != nil {
		return fmt.Errorf("%q cannot be split into arguments: %w", v, err)
	}
	c.Permissions = args
	return nil
}

// within takes a number, a size or a time between two bounds, which what describes.
func within[T int | int64 | time.Duration](field func(*Config) *T, parse func(string) (T, error), least, most T, what string) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := parse(v)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%q is not %s", v, what)
		}
		*field(c) = n
		return nil
	}
}

// parseSeconds reads a time, in seconds if it has no unit.
func parseSeconds(v string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(v, 64); err == nil {
		v += "s"
	}
	return time.ParseDuration(v)
}

// setLanguages takes the languages of runners/wasi that there are. Those that every server has
// may be named, too.
func setLanguages(c *Config, v string) error {
	c.Languages = []runners.Language{}
	for name := range strings.SplitSeq(v, ",") {
		switch l := runners.ParseLanguage(name); {
		case strings.TrimSpace(name) == "none", slices.Contains(runners.Languages, l):
		case slices.Contains(runners.GuestLanguages, l):
			c.Languages = append(c.Languages, l)
		default:
			return fmt.Errorf("%q is none of %s", name, languageNames(runners.GuestLanguages))
		}
	}
	return nil
}

func setIsolation(c *Config, v string) error {
	if c.RequireIsolation = v == "require"; !c.RequireIsolation && v != "auto" {
		return fmt.Errorf("%q is neither auto nor require", v)
	}
	return nil
}

func setSecrets(c *Config, v string) (err error) {
	c.Secrets, err = intercept.ParseSecrets(v, os.LookupEnv)
	return err
}

func setSessionStore(c *Config, v string) (err error) {
	c.SessionStore, err = backend.SessionStore(v)
	return err
}

func setStructured(c *Config, v string) error {
	c.Structured = server.Structured(v)
	switch c.Structured {
	case server.StructuredAuto, server.StructuredAlways, server.StructuredNever:
		return nil
	}
	return fmt.Errorf("%q is neither auto, always nor never", v)
}

func setBool(field func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) (err error) {
		if *field(c), err = strconv.ParseBool(v); err != nil {
			return fmt.Errorf("%q is neither true nor false", v)
		}
		return nil
	}
}

// setURL takes http and https URLs, and file URLs if a directory will do.
func setURL(directory bool, field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		u, err := fetch.ParseURL(v)
		if err != nil {
			return err
		}
		if u.Scheme == "file" && !directory {
			return fmt.Errorf("%s is not an http or https URL", v)
		}
		*field(c) = v
		return nil
	}
}

// parseSize reads a number of bytes: 50000, 64KiB, 512MiB, 2g, and 512MB for
// those who mean it.
func parseSize(v string) (int64, error) {
	v = strings.ToUpper(v)
	digits := strings.TrimRight(v, "KMGIB ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("not a number")
	}
	unit, ok := map[string]int64{
		"": 1, "B": 1,
		"KB": 1e3, "MB": 1e6, "GB": 1e9,
		"K": 1 << 10, "M": 1 << 20, "G": 1 << 30,
		"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30,
	}[strings.TrimSpace(v[len(digits):])]
	if !ok || n > 1<<40/unit {
		return 0, errors.New("no such unit, or too large")
	}
	return n * unit, nil
}
