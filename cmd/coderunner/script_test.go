package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	_ "unsafe" // for linkname

	"github.com/rogpeppe/go-internal/testscript"

	"coderunner/internal/sandbox"
	"coderunner/internal/testcache"
	"coderunner/internal/testchild"
)

// wazeroVersion is wazero's own, set as testcache.Flags does.
//
//go:linkname wazeroVersion github.com/tetratelabs/wazero/internal/version.version
var wazeroVersion string

func TestMain(m *testing.M) {
	wazeroVersion = "dev"
	testscript.Main(suite{m}, map[string]func(){
		"coderunner": func() {
			quietPreparation = time.Hour // so that stderr is the program's on a busy machine, too
			os.Exit(Main())
		},
		"claim": claim,
		"bundled": func() { // marks a directory as a bundle for this system
			if err := os.WriteFile(filepath.Join(os.Args[1], platformFile), []byte(platform), 0o600); err != nil {
				panic(err)
			}
		},
	})
}

// suite are the tests, and what is removed after them.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	testchild.Ordinary()
	return s.m.Run()
}

// claim is a program that claims stdout for the protocol and then prints to it
// in every way that a careless library might.
func claim() {
	wire, err := claimStdout()
	if err != nil {
		panic(err)
	}
	fmt.Println("printed")
	println("printed")
	_, _ = syscall.Write(1, []byte("printed\n"))
	cmd := exec.Command("sh", "-c", "echo printed; echo printed >&3")
	cmd.Stdout = os.Stdout
	_ = cmd.Run()
	fmt.Fprintln(wire, "protocol")
}

// TestProtocol drives the real binary where no program needs to run.
func TestProtocol(t *testing.T) { runScripts(t, "testdata/protocol", true) }

// TestRun drives the real binary with real programs.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	runScripts(t, "testdata/run", false)
}

// passedOn are the variables of this process that scripts see, so that they
// find the registries that this machine can reach.
var passedOn = []string{
	"NPM_CONFIG_REGISTRY", "JSR_URL", "PIP_INDEX_URL", "PYODIDE_PACKAGE_BASE_URL",
	"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CODE_RUNNER_DENO",
}

// echo is an API that answers with what it was asked, and has a document of another one.
func echo(w http.ResponseWriter, r *http.Request) {
	switch body, _ := io.ReadAll(r.Body); {
	case r.URL.Path == "/elsewhere.json":
		fmt.Fprint(w, `{"openapi": "3.1.0", "servers": [{"url": "https://example.org/v1"}], "paths": {"/": {"get": {}}}}`)
	case strings.HasSuffix(r.URL.Path, "/none"):
		http.Error(w, "no such pet for "+r.Header.Get("Authorization"), http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": 1, "request": fmt.Sprintf("%s %s X-Trace=%s Authorization=%s body=%s",
			r.Method, r.URL.RequestURI(), r.Header.Get("X-Trace"), r.Header.Get("Authorization"), body)})
	}
}

func runScripts(t *testing.T, dir string, offline bool) {
	api := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(api.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for _, name := range passedOn {
				if v, ok := os.LookupEnv(name); ok {
					env.Setenv(name, v)
				}
			}
			env.Setenv("ECHO_URL", api.URL)
			env.Setenv("CODE_RUNNER_SESSION_DIR", filepath.Join(env.WorkDir, "sessions"))
			if offline {
				env.Setenv("CODE_RUNNER_OFFLINE", "1")
				env.Setenv("CODE_RUNNER_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
				return nil
			}
			env.Setenv("CODE_RUNNER_CACHE_DIR", testcache.Dir())
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  cmdExits,
			"serve":  cmdServe,
			"call":   cmdCall,
			"begin":  cmdBegin,
			"send":   cmdSend,
			"recv":   cmdRecv,
			"finish": cmdFinish,
			"logged": cmdLogged,
		},
		Condition: func(name string) (bool, error) {
			if name != "zygotes" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return sandbox.CanFork() == nil, nil
		},
	})
}

// cmdExits is "exits CODE COMMAND ARG...": exec with that exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}
