package main

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"coderunner/internal/sandbox"
	"coderunner/internal/testcache"
)

// senders send the variable API_KEY to the URLs of their arguments, in a header and
// in the body, and print it and the answers.
var senders = map[string]string{
	"send.py": `
import os, sys, urllib.error, urllib.request
key = os.environ["API_KEY"]
print(key)
for url in sys.argv[1:]:
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, ("key=" + key).encode(), {"X-Key": key}))
    except urllib.error.HTTPError as e:
        answer = e
    print(answer.status, answer.read().decode())
`,
	"send.ts": `
const key = Deno.env.get("API_KEY");
console.log(key);
for (const url of Deno.args) {
  const answer = await fetch(url, { method: "POST", body: "key=" + key, headers: { "X-Key": key } });
  console.log(answer.status, await answer.text());
}
`,
	"send.sh": `
echo "$API_KEY"
for url in "$@"; do
    answer=$(curl -sS -w '\n%{http_code}' -H "X-Key: $API_KEY" -d "key=$API_KEY" "$url")
    echo "${answer##*$'\n'} ${answer%$'\n'*}"
done
`,
	"child.sh": `
echo "$API_KEY"
python3 - "$@" <<'END'
import os, sys, urllib.error, urllib.request
key = os.environ["API_KEY"]
for url in sys.argv[1:]:
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, ("key=" + key).encode(), {"X-Key": key}))
    except urllib.error.HTTPError as e:
        answer = e
    print(answer.status, answer.read().decode())
END
`,
}

const apiKey = "s3cr3t-value-of-the-api"

// origin is a server on the loopback that answers with what it got.
type origin struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func startOrigin(t *testing.T, start func(http.Handler) *httptest.Server) *origin {
	h := &origin{}
	h.Server = start(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got := req.URL.Path + " " + req.Header.Get("X-Key") + " " + string(body)
		h.mu.Lock()
		h.seen = append(h.seen, got)
		h.mu.Unlock()
		_, _ = io.WriteString(w, got)
	}))
	t.Cleanup(h.Close)
	return h
}

// got returns what it got since the last time.
func (h *origin) got() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.seen
	h.seen = nil
	return seen
}

// TestSecretsAndRecordings has programs send a secret that they do not see, and
// answers them again from a recording, without the host.
func TestSecretsAndRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	bin := selfAs(t, "coderunner")
	for name, code := range senders {
		t.Run(name, func(t *testing.T) {
			if err := sandbox.Supervised(); err != nil && name == "send.ts" {
				t.Skip(err)
			}
			dir := t.TempDir()
			api, other := startOrigin(t, httptest.NewTLSServer), startOrigin(t, httptest.NewServer)
			root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
			for name, data := range map[string]string{name: code, "root.pem": string(root)} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.Command(bin, append([]string{"run"}, args...)...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir(), "DENO_PERMISSION_ARGS=--allow-net=127.0.0.1", "SSL_CERT_FILE="+filepath.Join(dir, "root.pem"),
					"API_KEY="+apiKey, "CODE_RUNNER_SECRETS=API_KEY="+strings.TrimPrefix(api.URL, "https://"))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v: %v\n%s", args, err, out)
				}
				return string(out)
			}

			got := run(name, api.URL+"/a", other.URL+"/a")
			first, _, _ := strings.Cut(got, "\n") // the placeholder
			hidden, shown := " "+first+" key="+first, " "+apiKey+" key="+first
			if want := first + "\n200 /a" + hidden + "\n200 /a" + hidden + "\n"; got != want || !strings.HasPrefix(first, "coderunner-secret-API_KEY-") {
				t.Errorf("with a secret it printed %q, want %q", got, want)
			}
			if got := api.got(); !slices.Equal(got, []string{"/a" + shown}) {
				t.Errorf("the secret's host got %q", got)
			}
			if got := other.got(); !slices.Equal(got, []string{"/a" + hidden}) {
				t.Errorf("another host got %q", got)
			}

			recorded := run("--record", "x.har", name, api.URL+"/a", other.URL+"/b")
			placeholder, _, _ := strings.Cut(recorded, "\n")
			hidden, shown = " "+placeholder+" key="+placeholder, " "+apiKey+" key="+placeholder
			if want := placeholder + "\n200 /a" + hidden + "\n200 /b" + hidden + "\n"; recorded != want || placeholder == first {
				t.Errorf("recorded, it printed %q, want %q, of another placeholder than %s", recorded, want, first)
			}
			if got := api.got(); !slices.Equal(got, []string{"/a" + shown}) {
				t.Errorf("recorded, the secret's host got %q", got)
			}
			har, err := os.ReadFile(filepath.Join(dir, "x.har"))
			if err != nil || !strings.Contains(string(har), placeholder) {
				t.Errorf("the recording: %v\n%s", err, har)
			}
			for _, secret := range []string{apiKey, base64.StdEncoding.EncodeToString([]byte("key=" + apiKey))} {
				if strings.Contains(string(har), secret) {
					t.Errorf("the recording has the secret:\n%s", har)
				}
			}

			other.got()
			api.Close()
			if got := run("--replay", "x.har", name, api.URL+"/a", other.URL+"/b"); got != recorded {
				t.Errorf("replayed, it printed %q, want %q", got, recorded)
			}
			if got, want := run("--replay", "x.har", name, other.URL+"/c"), "no exchange for POST "+other.URL+"/c"; !strings.Contains(got, want) {
				t.Errorf("what is not recorded: %q, want %q", got, want)
			}
			if got := other.got(); got != nil {
				t.Errorf("replayed, a host got %q", got)
			}
		})
	}
}

// TestSecretsInServer has programs of a server, each of which finds a placeholder of its own.
func TestSecretsInServer(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	s := serveWire(t, "DENO_PERMISSION_ARGS=--allow-net=127.0.0.1", "API_KEY="+apiKey, "CODE_RUNNER_SECRETS=API_KEY=127.0.0.1")
	s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"},"capabilities":{}}}`)
	seen := map[string]bool{}
	for language, code := range map[string]string{"bash": `echo "$API_KEY"`, "python": "import os; print(os.environ['API_KEY'])"} {
		for range 3 {
			text := s.call(language, code, nil).Result.Content[0].Text
			if !strings.HasPrefix(text, "stdout:\ncoderunner-secret-API_KEY-") || seen[text] {
				t.Errorf("%s printed %q", language, text)
			}
			seen[text] = true
		}
	}
}

// TestSecretsInSessions has variables of a session hold a placeholder: it is good in the
// next program, though another process runs that, and in a fork.
func TestSecretsInSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	bin, dir := selfAs(t, "coderunner"), t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir(), "CODE_RUNNER_SESSION_DIR="+filepath.Join(dir, "sessions"),
			"DENO_PERMISSION_ARGS=--allow-net=127.0.0.1", "API_KEY="+apiKey, "CODE_RUNNER_SECRETS=API_KEY=127.0.0.1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for name, programs := range map[string][2]string{
		"keep.py": {"import os\nkey = os.environ['API_KEY']\nprint(key)", "print(key if key == os.environ['API_KEY'] else 'another')"},
		"keep.sh": {"key=$API_KEY; echo $key", "[[ $key == $API_KEY ]] && echo $key"},
	} {
		var printed []string
		for i, session := range []string{"a", "a", "b"} {
			if session == "b" {
				run("sessions", "fork", "a", "b")
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(programs[min(i, 1)]), 0o600); err != nil {
				t.Fatal(err)
			}
			printed = append(printed, run("run", "--session", session, name))
		}
		if !strings.HasPrefix(printed[0], "coderunner-secret-API_KEY-") || printed[1] != printed[0] || printed[2] != printed[0] {
			t.Errorf("%s: the programs printed %q", name, printed)
		}
		run("sessions", "close", "b")
	}
}
