package main

import (
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestDocker pulls the image from a registry on loopback by a Docker of its own, and runs
// the lines of README.md and of clients' entries as they stand.
func TestDocker(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" || runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("long, and starts Docker as root")
	}
	need(t, "apt-get", "dpkg-deb", "dockerd", "docker")
	made := releaseOfThis(t)
	r := *made
	r.out, r.withImages = t.TempDir(), true
	if err := r.images(t.Context()); err != nil {
		t.Fatal(err)
	}
	u := newUser(t, "DOCKER_HOST="+startDocker(t))
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	image := strings.TrimPrefix(server.URL, "http://") + "/coderunner:" + testVersion
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(r.out, "images/full"))
	if err == nil {
		err = remote.WriteIndex(ref, index)
	}
	if err != nil {
		t.Fatal(err)
	}
	u.output(t, "docker", "pull", image)
	for _, tag := range []string{"", ":" + testVersion} { // as it is named where it is published
		u.output(t, "docker", "tag", image, owner.Image+tag)
	}
	line := "docker run -i --rm " + owner.Image
	if !strings.Contains(readFile(t, "../../README.md"), "`"+line+"`") {
		t.Errorf("README.md has no %s", line)
	}
	// This Docker has no network but the machine's, whose certificates may be its own.
	const certificates = "/etc/ssl/certs/ca-certificates.crt"
	online := func(line []string) []string {
		return slices.Insert(slices.Clone(line), 2, "--network", "host", "-v", certificates+":"+certificates+":ro")
	}
	run := func(how string, line []string) {
		converse(t, how, u.command(t, line[0], line[1:]...))
	}
	run(line, online(strings.Fields(line)))
	binary := filepath.Join(made.out, "bin", runtime.GOOS+"_"+runtime.GOARCH, "coderunner")
	testEntry(t, u, binary, "--docker")
	entry := entryIn(t, filepath.Join(u.home, ".cursor/mcp.json"))
	run(strings.Join(entry, " "), online(entry))
	run("offline, "+strings.Join(entry, " "), entry)
}

// startDocker starts a daemon with its files in a directory of the test's, and returns its
// address.
func startDocker(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "docker") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	host := "unix://" + dir + "/sock"
	said, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command("dockerd", "--host", host, "--data-root", dir+"/data", "--exec-root", dir+"/exec", "--pidfile", dir+"/pid",
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs")
	daemon.Stdout, daemon.Stderr = said, said
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: dir + "/ready", Net: "unixgram"}) // as systemd is told
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	daemon.Env = append(os.Environ(), "NOTIFY_SOCKET="+dir+"/ready")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = daemon.Wait()
		_ = ready.Close()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = daemon.Process.Signal(os.Interrupt)
		<-ended
		_ = exec.Command("umount", dir+"/exec/netns/default").Run() // which it leaves
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for news := make([]byte, 1000); !strings.Contains(string(news), "READY=1"); {
		if n, err := ready.Read(news[:cap(news)]); err != nil {
			t.Fatalf("dockerd ended: %v\n%s", err, readFile(t, said.Name()))
		} else {
			news = news[:n]
		}
	}
	return host
}
