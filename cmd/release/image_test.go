package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImages makes the images of this platform, the full one with a warm cache, and runs
// programs in them as a container: another user than root, a root that cannot be written,
// no network.
func TestImages(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" || runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("long, and runs containers as root")
	}
	need(t, "apt-get", "dpkg-deb", "runc")
	made := releaseOfThis(t)
	r := *made
	r.out, r.withImages, r.cache = t.TempDir(), true, t.TempDir()
	binary := filepath.Join(made.out, "bin", runtime.GOOS+"_"+runtime.GOARCH, "coderunner")
	output(t, binary, "bundle", r.cache)
	if err := r.images(t.Context()); err != nil {
		t.Fatal(err)
	}
	python, typescript := []string{"run", "--language", "python", "-c", "print(6 * 7)"}, []string{"run", "--language", "typescript", "-c", "console.log(6 * 7)"}
	bash := []string{"run", "--language", "bash", "-c", "echo $((6 * 7))"}
	for _, tt := range []struct {
		flavour  string
		programs [][]string
	}{{"full", [][]string{python, typescript, bash}}, {"small", [][]string{bash}}} {
		t.Run(tt.flavour, func(t *testing.T) {
			img := imageOf(t, filepath.Join(r.out, "images", tt.flavour))
			c := newContainer(t, img)
			line, err := c.run(t, initialize)
			var answer struct {
				Result struct{ ServerInfo struct{ Version string } }
			}
			if jsonErr := json.Unmarshal([]byte(line), &answer); err != nil || jsonErr != nil || answer.Result.ServerInfo.Version != testVersion {
				t.Errorf("initialize: %v, %v, %s", err, jsonErr, line)
			}
			for _, program := range tt.programs {
				if out, err := c.run(t, "", program...); err != nil || out != "42\n" {
					t.Errorf("%v: %v\n%s", program, err, out)
				}
			}
			if out, err := c.run(t, "", "doctor"); !strings.Contains(out, "installed by an image, /usr/local/bin/coderunner") {
				t.Errorf("doctor: %v\n%s", err, out)
			}
		})
	}
}

// imageOf returns this machine's image of a layout that is valid.
func imageOf(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err == nil {
		err = validate.Index(index)
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Manifests, func(d v1.Descriptor) bool { return d.Platform != nil && d.Platform.Architecture == runtime.GOARCH })
	if i < 0 {
		t.Fatalf("no image for %s in %+v", runtime.GOARCH, list.Manifests)
	}
	img, err := index.Image(list.Manifests[i].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// container is a machine for runc: an image that is unpacked, or a bare one.
type container struct {
	dir    string
	config v1.Config
	online bool // it has the network of the host, otherwise none
	runs   int
}

func newContainer(t *testing.T, img v1.Image) *container {
	t.Helper()
	c := &container{dir: t.TempDir()}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c.config = config.Config
	flat := mutate.Extract(img)
	defer flat.Close()
	for r := tar.NewReader(flat); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(c.dir, "rootfs", h.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(to, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, to)
		default:
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, data, h.FileInfo().Mode().Perm())
			}
		}
		if err == nil {
			err = os.Lchown(to, h.Uid, h.Gid)
		}
		if err == nil && h.Typeflag == tar.TypeDir {
			err = os.Chmod(to, h.FileInfo().Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// run runs the image with arguments to its end.
func (c *container) run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := c.command(t, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%v: %s", args, &errs)
	}
	return string(out), err
}

// command runs the image with arguments, as docker run -i --rm --read-only does.
func (c *container) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c.runs++
	var uid, gid int
	if _, err := fmt.Sscanf(c.config.User, "%d:%d", &uid, &gid); err != nil || uid == 0 {
		t.Fatalf("the image's user is %q: %v", c.config.User, err)
	}
	mount := func(kind, at, source string, options ...string) map[string]any {
		return map[string]any{"destination": at, "type": kind, "source": source, "options": options}
	}
	mounts := []map[string]any{mount("proc", "/proc", "proc"), mount("tmpfs", "/dev", "tmpfs", "nosuid", "mode=755"), mount("tmpfs", "/tmp", "tmpfs", "nosuid", "nodev", "mode=1777")}
	for volume := range c.config.Volumes {
		mounts = append(mounts, mount("none", volume, filepath.Join(c.dir, "rootfs", volume), "bind", "rw"))
	}
	namespaces := []map[string]any{{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}}
	if !c.online {
		namespaces = append(namespaces, map[string]any{"type": "network"})
	}
	spec, err := json.Marshal(map[string]any{
		"ociVersion": "1.0.2", "hostname": "c", "root": map[string]any{"path": "rootfs", "readonly": true}, "mounts": mounts,
		"process": map[string]any{"args": append(slices.Clone(c.config.Entrypoint), args...), "cwd": c.config.WorkingDir, "noNewPrivileges": true,
			"env": c.config.Env, "user": map[string]any{"uid": uid, "gid": gid}},
		"linux": map[string]any{"namespaces": namespaces},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "config.json"), spec, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), "runc", "--root", filepath.Join(c.dir, "state"), "run", "--bundle", c.dir, fmt.Sprintf("c%d-%d", os.Getpid(), c.runs))
}

// TestParts compares the list of parts with what go version -m says of the binary.
func TestParts(t *testing.T) {
	r := releaseOfThis(t)
	p := r.platforms[0]
	var bom cdx.BOM
	name := filepath.Join(r.out, "download", fmt.Sprintf("coderunner_%s_%s_%s.cdx.json", r.Version, p.OS, p.Arch))
	if err := cdx.NewBOMDecoder(strings.NewReader(readFile(t, name)), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	parts := map[string]bool{}
	for _, c := range *bom.Components {
		parts[c.Name+" "+c.Version] = true
	}
	modules := 0
	for line := range strings.Lines(output(t, "go", "version", "-m", filepath.Join(r.out, "bin", p.OS+"_"+p.Arch, p.executable()))) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "dep" {
			if modules++; !parts[f[1]+" "+f[2]] {
				t.Errorf("%s %s is not in the list", f[1], f[2])
			}
		}
	}
	if modules < 20 || len(parts) != modules+4 { // Go's library, Deno, Pyodide, CPython
		t.Errorf("%d modules, %d parts", modules, len(parts))
	}
}
