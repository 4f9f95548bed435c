package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// debianRoot returns the files of packages of Debian for an architecture. apt fetches
// them from where this machine's apt does, and checks their signatures; it changes
// nothing on the machine.
func debianRoot(ctx context.Context, arch string, packages []string) (files []file, err error) {
	dir, err := os.MkdirTemp("", "debian")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	debs, err := fetchDebian(ctx, dir, arch, append([]string{"download"}, packages...)...)
	if err == nil && len(debs) != len(packages) {
		err = fmt.Errorf("apt-get fetched %q for %q", debs, packages)
	}
	if err != nil {
		return nil, err
	}
	for _, deb := range debs {
		raw, err := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb).Output()
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", filepath.Base(deb), err)
		}
		if files, err = appendPackage(files, raw); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", filepath.Base(deb), err)
		}
	}
	return withCertificates(mergedUsr(files)), nil
}

// fetchDebian runs apt-get in a directory of its own, as on a machine that has no package
// yet, and returns the packages that it fetches.
func fetchDebian(ctx context.Context, dir, arch string, args ...string) (debs []string, err error) {
	archives := filepath.Join(dir, "cache/archives")
	for _, name := range []string{filepath.Join(dir, "state/lists/partial"), filepath.Join(archives, "partial")} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "status"), nil, 0o644); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"update"}, args} {
		cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "Dir::State=" + dir + "/state", "-o", "Dir::Cache=" + dir + "/cache",
			"-o", "Dir::State::status=" + dir + "/status", "-o", "APT::Architecture=" + arch, "-o", "APT::Architectures=" + arch, "-o", "APT::Sandbox::User=root"}, args...)...)
		cmd.Dir = archives // where download writes
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("apt-get %s: %w; hint: images need Debian's apt-get and dpkg-deb, and -images=false leaves them out\n%s", args[0], err, out)
		}
	}
	return filepath.Glob(filepath.Join(archives, "*.deb")) // sorted
}

// unneeded are the parts of packages that no program of ours reads. Licences stay.
var unneeded = []string{"usr/share/doc", "usr/share/lintian", "usr/sbin", "usr/share/man", "etc", "usr/lib/locale"}

// appendPackage appends what is needed of a package.
func appendPackage(files []file, raw []byte) ([]file, error) {
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		dropped := slices.ContainsFunc(unneeded, func(dir string) bool { return strings.HasPrefix(name, dir+"/") }) || strings.Contains(name, "/gconv/")
		if dropped && path.Base(name) != "copyright" || h.Typeflag == tar.TypeDir {
			continue
		}
		f := file{name, h.FileInfo().Mode(), []byte(h.Linkname)}
		if h.Typeflag == tar.TypeLink {
			return nil, fmt.Errorf("%s is a hard link, which this does not know", name)
		}
		if h.Typeflag == tar.TypeReg {
			if f.data, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
}

// mergedUsr adds the links from /lib to /usr/lib that a package of its own has in newer
// versions of Debian.
func mergedUsr(files []file) []file {
	for _, dir := range []string{"lib", "lib64"} {
		in := func(prefix string) bool {
			return slices.ContainsFunc(files, func(f file) bool { return strings.HasPrefix(f.name, prefix+"/") })
		}
		if in("usr/"+dir) && !in(dir) {
			files = append(files, file{dir, fs.ModeSymlink | 0o777, []byte("usr/" + dir)})
		}
	}
	return files
}

// withCertificates adds the file of all authorities, which Debian makes at installation.
func withCertificates(files []file) []file {
	var all bytes.Buffer
	for _, f := range files {
		if strings.HasPrefix(f.name, "usr/share/ca-certificates/") && strings.HasSuffix(f.name, ".crt") {
			all.Write(append(bytes.TrimSpace(f.data), '\n'))
		}
	}
	return append(files, file{"etc/ssl/certs/ca-certificates.crt", 0o644, all.Bytes()})
}
