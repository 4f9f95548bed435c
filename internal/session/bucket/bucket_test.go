package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/internal/session"
	"coderunner/internal/session/bucket"
	"coderunner/internal/testcache"
	"coderunner/runners"
)

// servers are S3 servers that anybody with Go can build, by the module and its command's
// arguments.
var servers = map[string]struct {
	module string
	args   func(port, dir string) []string
}{
	"gofakes3": {"github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0", func(port, _ string) []string {
		return []string{"-backend", "memory", "-host", "127.0.0.1:" + port, "-initialbucket", "sessions", "-quiet"}
	}},
	"versitygw": {"github.com/versity/versitygw/cmd/versitygw@v1.8.0", func(port, dir string) []string {
		return []string{"--port", "127.0.0.1:" + port, "--access", "test", "--secret", "test-secret", "--quiet", "posix", "--sidecar", filepath.Join(dir, "meta"), filepath.Join(dir, "data")}
	}},
}

// serve builds and starts a server, and has the environment name it.
func serve(t *testing.T, name string) {
	s := servers[name]
	bin := filepath.Join(testcache.Dir(), "s3-servers")
	if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
		build := exec.CommandContext(t.Context(), "go", "install", s.module)
		build.Env = append(os.Environ(), "GOBIN="+bin)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", s.module, err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	dir := t.TempDir()
	for _, sub := range []string{"meta", "data/sessions"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, name), s.args(port, dir)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%.4000s", log.Bytes())
		}
	})
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:"+port)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	t.Setenv("AWS_REGION", "us-east-1")
	for deadline := time.Now().Add(time.Minute); ; {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen", name)
		}
	}
}

func names() []string {
	if os.Getenv("CODERUNNER_LONG") != "" {
		return []string{"gofakes3", "versitygw"}
	}
	return []string{"gofakes3"}
}

// What package session relies on, of real servers.
func TestBucket(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches an S3 server")
	}
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			serve(t, name)
			b, err := bucket.Open(t.Context(), "s3://sessions/a/b")
			if err != nil {
				t.Fatal(err)
			}
			objects(t, b)
			if name != "gofakes3" { // which takes none that is empty
				if _, err := b.Put(t.Context(), "empty", strings.NewReader(""), 0, ""); err != nil {
					t.Errorf("an empty object: %v", err)
				}
			}
			races(t, b)
			stores(t)
			bases(t)
		})
	}
}

func objects(t *testing.T, b *bucket.Bucket) {
	ctx := t.Context()
	put := func(key, text string, only session.Condition) (string, error) {
		return b.Put(ctx, key, strings.NewReader(text), int64(len(text)), only)
	}
	if _, _, err := b.Get(ctx, "x/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get of nothing: %v", err)
	}
	first, err := put("x/1", "one", session.IfAbsent)
	if err != nil || first == "" {
		t.Fatalf("Put = %q, %v", first, err)
	}
	if _, err := put("x/1", "two", session.IfAbsent); !errors.Is(err, session.ErrConflict) {
		t.Errorf("Put over an object: %v", err)
	}
	second, err := put("x/1", "two", session.Condition(first))
	if err != nil || second == first {
		t.Errorf("Put by tag = %q, %v", second, err)
	}
	for _, key := range []string{"x/1", "x/none"} {
		if _, err := put(key, "three", session.Condition(first)); !errors.Is(err, session.ErrConflict) {
			t.Errorf("Put of %s by an old tag: %v", key, err)
		}
	}
	r, tag, err := b.Get(ctx, "x/1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	r.Close()
	if string(text) != "two" || tag != second || err != nil {
		t.Errorf("Get = %q, %q, %v, want the tag %q", text, tag, err, second)
	}
	if _, err := put("x/deep/2", "2", ""); err != nil {
		t.Error(err)
	}
	list, err := b.List(ctx, "x/")
	if err != nil || len(list) != 2 || list[0].Key != "x/1" || list[0].Size != 3 || list[1].Key != "x/deep/2" || time.Since(list[0].Changed) > time.Hour {
		t.Errorf("List = %+v, %v", list, err)
	}
	if names, err := b.Names(ctx, "x/"); err != nil || !slices.Equal(names, []string{"1", "deep"}) && !slices.Equal(names, []string{"deep", "1"}) {
		t.Errorf("Names = %v, %v", names, err)
	}
	if err := b.Delete(ctx, []string{"x/1", "x/deep/2", "x/none"}); err != nil {
		t.Error(err)
	}
	if list, err := b.List(ctx, "x/"); err != nil || len(list) != 0 {
		t.Errorf("after Delete: %+v, %v", list, err)
	}
}

// Of several who write at once on one condition, one does.
func races(t *testing.T, b *bucket.Bucket) {
	for _, first := range []bool{true, false} {
		only := session.IfAbsent
		key := fmt.Sprint("race", first)
		if !first {
			tag, err := b.Put(t.Context(), key, strings.NewReader("x"), 1, "")
			if err != nil {
				t.Fatal(err)
			}
			only = session.Condition(tag)
		}
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				text := fmt.Sprint(i)
				if _, err := b.Put(t.Context(), key, strings.NewReader(text), int64(len(text)), only); err == nil {
					won.Add(1)
				} else if !errors.Is(err, session.ErrConflict) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of 8 wrote %s", won.Load(), key)
		}
	}
}

// stores has two stores make and read files of one session.
func stores(t *testing.T) {
	open := func() *session.Store {
		b, err := bucket.Open(t.Context(), "s3://sessions")
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(session.Options{Dir: t.TempDir(), Remote: b})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := open(), open()
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for i, s := range []*session.Store{a, b, a} {
		if err := s.WriteFile(t.Context(), "shared", fmt.Sprintf("f%d", i), append(large, byte(i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if data, err := b.ReadFile(t.Context(), "shared", fmt.Sprintf("f%d", i)); err != nil || !bytes.Equal(data, append(large, byte(i))) {
			t.Errorf("f%d: %d bytes, %v", i, len(data), err)
		}
	}
	if err := b.Close(t.Context(), "shared"); err != nil {
		t.Error(err)
	}
}

// aged is a bucket whose shared blobs were written long ago.
type aged struct{ *bucket.Bucket }

func (a aged) List(ctx context.Context, prefix string) ([]session.Object, error) {
	list, err := a.Bucket.List(ctx, prefix)
	for i := range list {
		if strings.Contains(list[i].Key, "/.bases/") {
			list[i].Changed = list[i].Changed.Add(-1000 * time.Hour)
		}
	}
	return list, err
}

// What sessions share stays as long as one needs it, goes, and is made again.
func bases(t *testing.T) {
	b, err := bucket.Open(t.Context(), "s3://sessions")
	if err != nil {
		t.Fatal(err)
	}
	open := func(r session.Remote) *session.Store {
		s, err := session.Open(session.Options{Dir: t.TempDir(), Namespace: "bases", Remote: r})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	run := func(s *session.Store, name string) {
		out, err := s.Run(t.Context(), session.Call{Session: name, Request: runners.Request{Language: runners.Python}}, func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
			_, err := req.Session.Leave(fstest.MapFS{}, runners.File{})
			err = errors.Join(err, os.WriteFile(filepath.Join(req.Session.Save, runners.SavedBase), []byte("shared by many"), 0o600))
			return &runners.Outcome{Status: runners.Succeeded, Continued: &runners.Continued{Kept: true}}, err
		})
		if err != nil || !out.Continued.Kept {
			t.Fatalf("%s: %+v, %v", name, out, err)
		}
	}
	sweep := func(step string, want int) {
		if err := open(aged{b}).WriteFile(t.Context(), "other", step, []byte(step)); err != nil { // a store's first state sweeps
			t.Fatal(err)
		}
		if list, err := b.List(t.Context(), "bases/.bases/"); err != nil || len(list) != want {
			t.Errorf("%s: %v, %v; want %d objects", step, list, err, want)
		}
	}
	s := open(b)
	run(s, "one")
	if err := s.Fork(t.Context(), "one", "two", 0); err != nil {
		t.Fatal(err)
	}
	sweep("two sessions need it", 2)
	for _, name := range []string{"one", "two"} {
		run(open(b), name)
		if err := s.Close(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	sweep("none needs it", 1)
	run(s, "three")
	sweep("one needs it again", 2)
	run(open(b), "three")
}

// A store that heeds no conditions is refused, since two servers would have one session.
func TestWithoutConditions(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"d41d8cd98f00b204e9800998ecf8427e"`)
	})}
	go server.Serve(l)
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", "http://"+l.Addr().String())
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	t.Setenv("AWS_REGION", "us-east-1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := bucket.Open(ctx, "s3://sessions"); err == nil || !strings.Contains(err.Error(), "conditional writes") {
		t.Errorf("Open = %v", err)
	}
	for _, address := range []string{"", "sessions", "http://x/y", "s3://"} {
		if _, err := bucket.Open(ctx, address); err == nil || !strings.Contains(err.Error(), "s3://BUCKET") {
			t.Errorf("Open(%q) = %v", address, err)
		}
	}
}

// A store that is elsewhere, or busy, is asked again, there and later.
func TestAgain(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch n := asked.Add(1); {
		case n == 1:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>")
		case !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/s3/aws4_request"):
			t.Errorf("signed %q", r.Header.Get("Authorization"))
		case n == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.Method == http.MethodPut && string(body) != "x":
			t.Errorf("Put of %q", body)
		case r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusPreconditionFailed)
		case r.URL.EscapedPath() == "/sessions/a/%C3%A9%20%2B":
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Not yours</Message></Error>")
		}
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	b, err := bucket.Open(t.Context(), "s3://sessions/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Get(t.Context(), "é +"); err == nil || err.Error() != "Not yours (403 AccessDenied)" {
		t.Errorf("Get = %v", err)
	}
}

// TestLies has a store whose answers have no end, or are of others.
func TestLies(t *testing.T) {
	var lie func(w io.Writer)
	status := http.StatusOK
	var elsewhere atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Store(true) }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusPreconditionFailed)
		case lie != nil:
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
			lie(w)
		}
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	b, err := bucket.Open(t.Context(), "s3://sessions/a")
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]struct {
		status int
		lie    func(w io.Writer)
		says   string
	}{
		"pages without end": {200, func(w io.Writer) {
			_, _ = io.WriteString(w, "<ListBucketResult><NextContinuationToken>x</NextContinuationToken></ListBucketResult>")
		}, "too long"},
		"objects without end": {200, func(w io.Writer) {
			_, _ = io.WriteString(w, "<ListBucketResult>"+strings.Repeat("<Contents><Key>a/x/1</Key></Contents>", 30_000)+"<NextContinuationToken>x</NextContinuationToken></ListBucketResult>")
		}, "too long"},
		"a page without end": {200, func(w io.Writer) {
			for _, err := io.WriteString(w, "<ListBucketResult>"); err == nil; {
				_, err = io.WriteString(w, "<Contents><Key>"+strings.Repeat("x", 1<<16)+"</Key></Contents>")
			}
		}, "unexpected EOF"},
		"no XML":         {200, func(w io.Writer) { _, _ = io.WriteString(w, "<html>") }, "read a list"},
		"another server": {307, func(io.Writer) {}, "307"},
		"a long apology": {403, func(w io.Writer) {
			_, _ = io.WriteString(w, "<Error><Message>"+strings.Repeat("x", 1<<20)+"</Message></Error>")
		}, "xxx"},
	} {
		lie, status = l.lie, l.status
		list, err := b.List(t.Context(), "x/")
		if err == nil || !strings.Contains(err.Error(), l.says) || len(err.Error()) > 1000 {
			t.Errorf("%s: %d objects, %v; want %q", name, len(list), err, l.says)
		}
	}
	lie, status = func(w io.Writer) {
		_, _ = io.WriteString(w, "<ListBucketResult><Contents><Key>b/x/1</Key></Contents><Contents><Key>a/y/1</Key></Contents><Contents><Key>a/x/2</Key></Contents></ListBucketResult>")
	}, 200
	if list, err := b.List(t.Context(), "x/"); err != nil || len(list) != 1 || list[0].Key != "x/2" {
		t.Errorf("of others: %v, %v", list, err)
	}
	if elsewhere.Load() {
		t.Error("another server was asked")
	}
}
