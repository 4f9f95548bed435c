// Command release makes everything that a version is published as: binaries, archives,
// installers, npm and PyPI packages, bundles for clients, images, and lists of what is in
// them. It writes them to a directory and publishes nothing unless it is told to.
//
//	go run ./cmd/release 1.2.3
//
// The product does not import it. Two runs for one version write the same bytes: all
// times are SOURCE_DATE_EPOCH, or that of the commit.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("out", "dist", "`directory` to write to; what it has is replaced")
	only := flags.String("only", "", "`platforms` to build for, such as linux/amd64,darwin/arm64, or \"this\" (default: all)")
	images := flags.Bool("images", true, "make images, for which apt-get and dpkg-deb are needed")
	cache := flags.String("cache", "", "`directory` of a cache that coderunner bundle has made, for this platform's full image")
	bundle := flags.String("bundle", "", "`directory` that coderunner bundle has made, for this platform's packages of npm and PyPI")
	publish := flags.Bool("publish", false, "publish the files afterwards, under the names in names.go")
	renames := flags.Bool("rename", false, "only give the Go module, in the sources, the path that names.go has for it")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: go run ./cmd/release [flags] VERSION\n       go run ./cmd/release -rename")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *renames {
		return rename(ctx, ".", owner.Module)
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return fmt.Errorf("name one version, such as 1.2.3")
	}
	if *publish {
		if err := owner.check(); err != nil {
			return fmt.Errorf("nothing is published: %w", err)
		}
		if path, err := modulePath(ctx, "."); err != nil || path != owner.Module {
			return fmt.Errorf("nothing is published: go.mod has the module path %q, names.go %q: go run ./cmd/release -rename (%v)", path, owner.Module, err)
		}
	}
	r, err := newRelease(ctx, flags.Arg(0), *out, *only)
	if err != nil {
		return err
	}
	r.withImages, r.cache, r.bundle = *images, *cache, *bundle
	if err := r.make(ctx); err != nil {
		return err
	}
	if *publish {
		return r.publish(ctx)
	}
	if err := owner.check(); err != nil {
		fmt.Fprintf(os.Stderr, "release: %s is complete; -publish will refuse it: %v\n", r.out, err)
	}
	return nil
}

// release is one version on its way to a directory.
type release struct {
	names
	Version   string // without a v
	date      time.Time
	root, out string
	platforms []platform
	goFlags   []string // of the builds
	goEnv     []string

	withImages bool
	cache      string // that an image has, "" for none
	bundle     string // that packages have, "" for none

	common   []file // which go with every binary
	binaries map[platform][]byte
	archives map[platform]*artifact
	bundled  map[platform]*artifact
	sums     []*artifact // what SHA256SUMS lists
}

// versionForm is of those that npm, PyPI and Go's modules can all express.
var versionForm = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-rc\.(0|[1-9]\d*))?$`)

func newRelease(ctx context.Context, version, out, only string) (*release, error) {
	r := &release{
		names: owner, Version: strings.TrimPrefix(version, "v"), out: out,
		goFlags:  append(sizeFlags(), "-trimpath"),
		goEnv:    []string{"CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT="},
		binaries: map[platform][]byte{}, archives: map[platform]*artifact{},
	}
	if !versionForm.MatchString(r.Version) {
		return nil, fmt.Errorf("version %q is not of the form 1.2.3 or 1.2.3-rc.1", version)
	}
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if r.root = filepath.Dir(strings.TrimSpace(string(mod))); err != nil || r.root == "." {
		return nil, fmt.Errorf("start it in the project's directory (go env GOMOD: %v)", err)
	}
	if r.platforms, err = choose(only); err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	r.common = []file{{"LICENSE", 0o644, licence}}
	r.date, err = sourceDate(ctx, r.root)
	return r, err
}

// choose returns the platforms that a list names.
func choose(only string) (chosen []platform, err error) {
	switch only {
	case "":
		return platforms, nil
	case "this":
		only = here().String()
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("no binaries are built for %q; there are %v", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

// sourceDate returns the time that everything is made at.
func sourceDate(ctx context.Context, root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		// git does not read the directory of another user unless it is told to, and what
		// is built is in it.
		out, err := exec.CommandContext(ctx, "git", "-c", "safe.directory="+root, "-C", root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("read the commit's time (%w); set SOURCE_DATE_EPOCH", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 315532800 { // 1980, before which zip has no times
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds after 1980", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// make writes everything.
func (r *release) make(ctx context.Context) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	for _, step := range r.steps() {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintln(os.Stderr, "release:", step.name)
	}
	return nil
}

// step makes a part of the release of what those before it made.
type step struct {
	name string
	do   func(context.Context) error
}

func (r *release) steps() []step {
	return []step{
		{"binaries", r.build}, {"archives", r.pack}, {"installers", r.installers}, {"npm", r.npm}, {"wheels", r.wheels},
		{"bundles", r.bundles}, {"server.json", r.serverJSON}, {"plugins", r.plugins}, {"lists of parts", r.sboms}, {"checksums", r.checksums}, {"images", r.images},
	}
}
