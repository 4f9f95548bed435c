package python

import (
	"fmt"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
)

// TestRefusedNetwork has what a program without a network asks for stand in its outcome:
// many catch the error and only print that they failed.
func TestRefusedNetwork(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{t, store, r}
	const caught = "import socket, subprocess, sys, urllib.request\ntry:\n  %s\nexcept OSError:\n  pass"
	for _, test := range []struct{ code, want string }{
		{"urllib.request.urlopen('https://api.example.com/x')", "[api.example.com --allow-net=api.example.com 1]"},
		{"socket.create_connection(('8.8.8.8', 53))", "[8.8.8.8 --allow-net=8.8.8.8:53 1]"},
		{"socket.socket(type=socket.SOCK_DGRAM).connect(('8.8.8.8', 53))", "[8.8.8.8 --allow-net=8.8.8.8 1]"},
		{"socket.create_connection(('127.0.0.1', 9))", "[]"},
		{"subprocess.run([sys.executable, '-c', 'import socket; socket.gethostbyname(\"a.example.com\")'], stderr=-3)", "[a.example.com --allow-net=a.example.com 1]"},
	} {
		code := fmt.Sprintf(caught, test.code)
		for road, o := range map[string]*runners.Outcome{"run": run(t, r, code), "session": c.run("s", code)} {
			got := []any{}
			for _, contact := range o.Usage.Contacted {
				got = append(got, contact.Host, contact.Flag, contact.Count)
			}
			if fmt.Sprint(got) != test.want || o.Status != runners.Succeeded || len(o.Refusals()) != len(o.Usage.Contacted) {
				t.Errorf("%s: %s: %v %+v, want %s", road, test.code, got, o.Error, test.want)
			}
		}
	}
	o := run(t, r, fmt.Sprintf(caught, "socket.gethostbyname('a.example.com')")+"\n1 / 0")
	if o.Error == nil || len(o.Refusals()) != 1 || o.Error.Hint != o.Refusals()[0] {
		t.Errorf("raises another error: %+v %+v", o.Error, o.Usage.Contacted)
	}
	o = run(t, r, "import urllib.request\nurllib.request.urlopen('https://api.example.com/x')")
	if o.Error == nil || len(o.Usage.Contacted) != 1 || len(o.Refusals()) != 0 || o.Error.Hint != "" {
		t.Errorf("%+v %+v", o.Error, o.Usage.Contacted)
	}
}
