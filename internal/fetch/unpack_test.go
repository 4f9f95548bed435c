package fetch

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var testLimits = unpackLimits{entries: 50, bytes: 1 << 20, ratio: 100, slack: 64 << 10}

// file is a tar entry with contents.
func file(name, text string) tar.Header { return tar.Header{Name: name, Linkname: text} }

func TestNPM(t *testing.T) {
	archive := tgz(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "from git"}},
		tar.Header{Name: "package/", Typeflag: tar.TypeDir},
		tar.Header{Name: "package/deno", Linkname: "binary", Mode: 0o755},
		file("package/package.json", "{}"),
		file("package/lib/ünï/a.js", "a"),
		file("package/lib/skip.js", "skip"))
	for _, tc := range []struct{ name, base, path string }{
		{"@deno/linux-x64-glibc", "", "/@deno/linux-x64-glibc/-/linux-x64-glibc-2.9.6.tgz"},
		{"pyodide", "/", "/pyodide/-/pyodide-2.9.6.tgz"},
		{"pyodide", "/api/npm/repo", "/api/npm/repo/pyodide/-/pyodide-2.9.6.tgz"},
		{"@a/b", "/api/npm/repo/", "/api/npm/repo/@a/b/-/b-2.9.6.tgz"},
	} {
		var asked []string
		base, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			w.Write(archive)
		})
		root := t.TempDir()
		p := NPMPackage{Registry: base + tc.base, Name: tc.name, Version: "2.9.6", Integrity: integrityOf(archive),
			Keep: func(path string) bool { return path != "lib/skip.js" }, Part: "some"}
		c := open(t, root, Options{})
		var done int64
		dir, err := c.NPM(context.Background(), p, func(d, _ int64) { done = d })
		check(t, err)
		if !slices.Equal(asked, []string{tc.path}) {
			t.Errorf("asked for %q, want %q", asked, tc.path)
		}
		if done != int64(len(archive)) {
			t.Errorf("progress ended at %d, want %d", done, len(archive))
		}
		got := map[string]string{}
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if !d.IsDir() {
				info, _ := d.Info()
				data, _ := os.ReadFile(path)
				rel, _ := filepath.Rel(dir, path)
				got[rel] = fmt.Sprintf("%v %s", info.Mode(), data)
			}
			return err
		})
		want := map[string]string{"deno": "-r-xr-xr-x binary", "package.json": "-r--r--r-- {}", "lib/ünï/a.js": "-r--r--r-- a"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("unpacked %v, want %v", got, want)
		}
		wantNoTemps(t, c)
		again, err := open(t, root, Options{Offline: true}).NPM(context.Background(), p, nil)
		if again != dir || err != nil {
			t.Errorf("NPM again = %q, %v; want %q", again, err, dir)
		}
	}
}

func TestNPMRefusesBeforeAsking(t *testing.T) {
	base, requests := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := open(t, t.TempDir(), Options{})
	good := NPMPackage{Registry: base, Name: "a", Version: "1.0.0", Integrity: integrityOf(nil)}
	for _, change := range []func(*NPMPackage){
		func(p *NPMPackage) { p.Name = "" },
		func(p *NPMPackage) { p.Name = "../a" },
		func(p *NPMPackage) { p.Name = "@a/../b" },
		func(p *NPMPackage) { p.Name = "a/b" },
		func(p *NPMPackage) { p.Name = "a?b" },
		func(p *NPMPackage) { p.Version = "" },
		func(p *NPMPackage) { p.Version = "latest" },
		func(p *NPMPackage) { p.Version = "1/../2" },
		func(p *NPMPackage) { p.Integrity = "" },
		func(p *NPMPackage) { p.Registry = "" },
		func(p *NPMPackage) { p.Registry = "gopher://x" },
	} {
		p := good
		change(&p)
		if _, err := c.NPM(context.Background(), p, nil); err == nil {
			t.Errorf("NPM(%+v) succeeded", p)
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests", requests.Load())
	}
	wantNothing(t, c)
}

// A tarball is verified before it is unpacked, and nothing of a bad one stays.
func TestNPMBadTarballs(t *testing.T) {
	evil := tgz(t, file("package/good", "x"), file("package/../../../../../../tmp/evil", "x"))
	for name, tc := range map[string]struct {
		archive   []byte
		integrity string
		texts     []string
	}{
		"wrong hash":  {evil, integrityOf(nil), []string{"is not what was asked for"}},
		"dot dot":     {evil, integrityOf(evil), []string{"refused", "evil"}},
		"no tarball":  {payload, integrityOf(payload), []string{"read gzip"}},
		"unfinished":  {evil[:len(evil)-10], integrityOf(evil[:len(evil)-10]), []string{"evil"}},
		"only a tgz":  {gzipped(t, payload), integrityOf(gzipped(t, payload)), []string{"read tar"}},
		"empty":       {nil, integrityOf(nil), []string{"read gzip"}},
		"nothing":     {tgz(t), integrityOf(tgz(t)), []string{"none of the files"}},
		"a web page":  {[]byte("<html>"), integrityOf(evil), []string{"web page"}},
		"half a file": {gzipped(t, tarball(t, file("package/a", strings.Repeat("x", 5000)))[:3000]), "", []string{"read a: unexpected EOF"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.integrity == "" {
				tc.integrity = integrityOf(tc.archive)
			}
			base, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(tc.archive) })
			c := open(t, t.TempDir(), Options{})
			_, err := c.NPM(context.Background(), NPMPackage{Registry: base, Name: "evil", Version: "1.0.0", Integrity: tc.integrity}, nil)
			wantError(t, err, append(tc.texts, "evil@1.0.0")...)
			if n := requests.Load(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
			wantNothing(t, c)
		})
	}
}

func TestUnpackRefuses(t *testing.T) {
	many := make([]tar.Header, 51)
	for i := range many {
		many[i] = file(fmt.Sprintf("package/%d", i), "")
	}
	var deep []tar.Header
	for i := range 5 {
		deep = append(deep, file("package/"+strings.Repeat(fmt.Sprintf("%d/", i), 60)+"x", ""))
	}
	link := func(flag byte) []tar.Header {
		return []tar.Header{{Name: "package/x", Typeflag: flag, Linkname: "/etc/passwd"}}
	}
	for name, tc := range map[string]struct {
		entries []tar.Header
		want    string
	}{
		"absolute":             {[]tar.Header{file("/etc/passwd", "x")}, "not a plain relative name"},
		"dot dot":              {[]tar.Header{file("package/../x", "x")}, "not a plain relative name"},
		"dot dot first":        {[]tar.Header{file("../package/x", "x")}, "not a plain relative name"},
		"dot":                  {[]tar.Header{file("package/./x", "x")}, "not a plain relative name"},
		"empty element":        {[]tar.Header{file("package//x", "x")}, "not a plain relative name"},
		"backslash":            {[]tar.Header{file(`package\..\x`, "x")}, "has characters"},
		"drive":                {[]tar.Header{file(`package/C:x`, "x")}, "has characters"},
		"newline":              {[]tar.Header{file("package/a\nb", "x")}, "has characters"},
		"not UTF-8":            {[]tar.Header{file("package/a\xff", "x")}, "has characters"},
		"beside":               {[]tar.Header{file("x", "x")}, "beside the package's directory"},
		"symlink":              {link(tar.TypeSymlink), "is a symbolic link"},
		"hard link":            {link(tar.TypeLink), "is a hard link"},
		"device":               {link(tar.TypeChar), "is a device"},
		"pipe":                 {link(tar.TypeFifo), "is a named pipe"},
		"twice":                {[]tar.Header{file("package/x", "1"), file("package/x", "2")}, "is there twice"},
		"case":                 {[]tar.Header{file("package/x", "1"), file("package/X", "2")}, "differ only in case"},
		"case of a directory":  {[]tar.Header{file("package/a/x", "1"), file("package/A/y", "2")}, "differ only in case"},
		"case of a letter":     {[]tar.Header{file("package/s", "1"), file("package/\u017f", "2")}, "differ only in case"},
		"file, then directory": {[]tar.Header{file("package/a", "1"), file("package/a/b", "2")}, "is there twice"},
		"directory, then file": {[]tar.Header{file("package/a/b", "1"), file("package/a", "2")}, "is there twice"},
		"long name":            {[]tar.Header{file("package/"+strings.Repeat("x/", 600)+"x", "x")}, "too long"},
		"long element":         {[]tar.Header{file("package/"+strings.Repeat("x", 300), "x")}, "not a plain relative name"},
		"deep":                 {[]tar.Header{file(strings.Repeat("x/", 64)+"x", "x")}, "too long"},
		"many":                 {many, "more than 50 entries"},
		"many directories":     {deep, "directories"},
		"bomb":                 {[]tar.Header{file("package/zeros", strings.Repeat("\x00", 900_000))}, "more than 100 times as many"},
		"large":                {[]tar.Header{file("package/large", noise(2<<20))}, "more than 1048576 bytes"},
		"large and not kept":   {[]tar.Header{file("package/skip", noise(2<<20))}, "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			u := unpacker{limits: testLimits, keep: func(path string) bool { return path != "skip" }}
			err := u.unpack(context.Background(), bytes.NewReader(tgz(t, tc.entries...)), dir)
			wantError(t, err, tc.want)
			if len(err.Error()) > 3000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

// noise does not compress.
func noise(n int) string {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[x>>26]
	}
	return string(b)
}

// A sparse file is larger than its archive ever gets: a thousand bytes claim
// to be a terabyte.
func TestUnpackSparse(t *testing.T) {
	record := func(key, value string) string {
		n := len(key) + len(value) + 3
		n += len(fmt.Sprint(n + len(fmt.Sprint(n))))
		return fmt.Sprintf("%d %s=%s\n", n, key, value)
	}
	pax := record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") +
		record("GNU.sparse.name", "package/sparse") + record("GNU.sparse.realsize", "1099511627776")
	block := func(name string, flag byte, body string) []byte {
		h := make([]byte, 512)
		copy(h, name)
		copy(h[100:], "0000644\x000000000\x000000000\x00")
		copy(h[124:], fmt.Sprintf("%011o\x00", len(body)))
		copy(h[136:], "00000000000\x00        ")
		h[156] = flag
		copy(h[257:], "ustar\x0000")
		sum := 0
		for _, b := range h {
			sum += int(b)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		padded := make([]byte, (len(body)+511)/512*512)
		copy(padded, body)
		return append(h, padded...)
	}
	archive := slices.Concat(block("PaxHeaders/x", 'x', pax),
		block("package/GNUSparseFile.0/sparse", '0', "1\n1099511627775\n1\n"+strings.Repeat("\x00", 512-18)+"x"), make([]byte, 1024))
	u := unpacker{limits: testLimits}
	err := u.unpack(context.Background(), bytes.NewReader(gzipped(t, archive)), t.TempDir())
	wantError(t, err, "times as many")
}

func TestUnpackStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	u := unpacker{limits: testLimits}
	err := u.unpack(ctx, bytes.NewReader(tgz(t, file("package/x", "x"))), t.TempDir())
	wantError(t, err, context.Canceled.Error())
}

// Whatever an archive says, there is no panic, no more is written than the
// limits allow, and nothing beside the directory, nothing but plain files in it.
func FuzzUnpack(f *testing.F) {
	f.Add(tarball(f, file("package/a", "text"), file("package/b/c", "more")))
	f.Add(tarball(f, file("package/../../x", "x")))
	f.Add(tarball(f, tar.Header{Name: "package/l", Typeflag: tar.TypeSymlink, Linkname: ".."}, file("package/l/x", "x")))
	f.Add(tarball(f, tar.Header{Name: "package/x", Linkname: "x", Format: tar.FormatPAX, PAXRecords: map[string]string{"path": "package/./x", "size": "9"}}))
	f.Add(tarball(f, tar.Header{Name: "package/" + strings.Repeat("long/", 50) + "x", Linkname: "x", Format: tar.FormatGNU}))
	f.Add(tgz(f, file("package/a", "text")))
	f.Fuzz(func(t *testing.T, data []byte) {
		outer := t.TempDir()
		inner := filepath.Join(outer, "inner")
		check(t, os.Mkdir(inner, 0o700))
		packed := data
		if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
			packed = gzipped(t, data)
		}
		u := unpacker{limits: testLimits}
		_ = u.unpack(context.Background(), bytes.NewReader(packed), inner)
		var size int64
		filepath.WalkDir(outer, func(path string, d fs.DirEntry, err error) error {
			check(t, err)
			if path != outer && path != inner && !strings.HasPrefix(path, inner+"/") {
				t.Errorf("%s is outside", path)
			}
			if !d.IsDir() {
				info, err := d.Info()
				check(t, err)
				size += info.Size()
				if !info.Mode().IsRegular() {
					t.Errorf("%s is %v", path, info.Mode())
				}
			}
			return nil
		})
		if size > testLimits.bytes {
			t.Errorf("%d bytes written", size)
		}
	})
}
