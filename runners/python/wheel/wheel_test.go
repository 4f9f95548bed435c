package wheel_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coderunner/runners/python/wheel"
	"coderunner/runners/python/wheel/wheeltest"

	"github.com/google/go-cmp/cmp"
)

const name = "demo-1.0-py3-none-any.whl"

func open(t *testing.T, filename string, data []byte) (*wheel.Wheel, error) {
	t.Helper()
	return wheel.Open(bytes.NewReader(data), int64(len(data)), filename, wheel.DefaultLimits)
}

// tree lists the files below dir with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		found[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestInstall(t *testing.T) {
	w, err := open(t, name, wheeltest.Wheel{
		Filename: name,
		Requires: []string{"six>=1.10", `colorama; sys_platform == "win32"`},
		Headers:  []string{"Requires-Python: >=3.8", "Provides-Extra: fast"},
		Files: map[string]string{
			"demo/__init__.py":                  "x = 1\n",
			"demo/data.txt":                     strings.Repeat("text ", 5000),
			"demo/_speed.cpython-314-x.so":      "machine code",
			"single.py":                         "",
			"demo-1.0.data/purelib/demo/p.py":   "p = 1\n",
			"demo-1.0.data/platlib/other/q.py":  "q = 1\n",
			"demo-1.0.data/scripts/demo":        "#!python\n",
			"demo-1.0.data/headers/demo.h":      "int x;",
			"demo-1.0.data/data/etc/passwd":     "root",
			"demo-1.0.dist-info/licenses/a,b c": "free",
		},
	}.Build())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"six>=1.10", `colorama; sys_platform == "win32"`}, w.Metadata.RequiresDist); diff != "" {
		t.Error(diff)
	}
	dir := t.TempDir()
	err = w.InstallTo(context.Background(), dir, func(path string) bool { return !wheel.IsNative(path) })
	if err != nil {
		t.Fatal(err)
	}
	got := tree(t, dir)
	for path, want := range map[string]string{
		"demo/__init__.py": "x = 1\n", "demo/p.py": "p = 1\n", "other/q.py": "q = 1\n",
		"demo/data.txt": strings.Repeat("text ", 5000), "single.py": "",
		"demo-1.0.dist-info/licenses/a,b c": "free",
	} {
		if text, ok := got[path]; !ok || text != want {
			t.Errorf("%s: %d bytes, present %v", path, len(text), ok)
		}
	}
	for path := range got {
		if strings.Contains(path, ".data/") || strings.HasSuffix(path, ".so") || strings.Contains(path, "passwd") {
			t.Errorf("%s was written", path)
		}
	}
}

func TestRefused(t *testing.T) {
	files := map[string]string{"demo.py": "x = 1\n"}
	with := func(path, text string) map[string]string {
		return map[string]string{"demo.py": "x = 1\n", path: text}
	}
	good := wheeltest.Wheel{Filename: name, Files: files}
	tests := []struct {
		what  string
		wheel wheeltest.Wheel
		name  string // when not the same
		want  string
	}{
		{"parent", wheeltest.Wheel{Files: with("../../x.py", "")}, "", "leaves its directory"},
		{"parent inside", wheeltest.Wheel{Files: with("a/../../x.py", "")}, "", "leaves its directory"},
		{"absolute", wheeltest.Wheel{Files: with("/etc/x", "")}, "", "absolute name"},
		{"drive", wheeltest.Wheel{Files: with("C:/x", "")}, "", "drive letter"},
		{"backslash", wheeltest.Wheel{Files: with(`a\..\x`, "")}, "", "backslash"},
		{"nul", wheeltest.Wheel{Files: with("a\x00b", "")}, "", "NUL byte"},
		{"newline", wheeltest.Wheel{Files: with("a\tb", "")}, "", "control character"},
		{"dot", wheeltest.Wheel{Files: with("a/./b", "")}, "", "empty part"},
		{"double slash", wheeltest.Wheel{Files: with("a//b", "")}, "", "empty part"},
		{"long part", wheeltest.Wheel{Files: with(strings.Repeat("a", 256), "")}, "", "too long"},
		{"long name", wheeltest.Wheel{Files: with(strings.Repeat("a/", 600)+"b", "")}, "", "1201 bytes"},
		{"not UTF-8", wheeltest.Wheel{Files: with("a\xff", "")}, "", "not UTF-8"},
		{"case", wheeltest.Wheel{Files: with("Demo.py", "")}, "", "differ in case"},
		{"directory case", wheeltest.Wheel{Files: map[string]string{"a/x.py": "", "A/y.py": ""}}, "", "differ in case"},
		{"file and directory", wheeltest.Wheel{Files: with("demo.py/x", "")}, "", "a file and a directory"},
		{"twice", wheeltest.Wheel{Files: files, Entries: []wheeltest.Entry{{Name: "demo.py", Text: "x"}}}, "", "twice"},
		{"link", wheeltest.Wheel{Files: files, Entries: []wheeltest.Entry{{Name: "l", Text: "/etc", Mode: 0o777 | fs.ModeSymlink}}}, "", "symbolic link"},
		{"device", wheeltest.Wheel{Files: files, Entries: []wheeltest.Entry{{Name: "d", Mode: 0o600 | fs.ModeDevice}}}, "", "special file"},
		{"directory with contents", wheeltest.Wheel{Files: files, Entries: []wheeltest.Entry{{Name: "d/", Mode: 0o644}}}, "", "a directory by one mark"},
		{"no info", wheeltest.Wheel{Files: files, NoInfo: true}, "", "no .dist-info directory"},
		{"two infos", wheeltest.Wheel{Files: with("other-2.dist-info/METADATA", "")}, "", "two .dist-info directories"},
		{"other project", good, "other-1.0-py3-none-any.whl", "not of other 1.0"},
		{"other version", good, "demo-1.1-py3-none-any.whl", "not of demo 1.1"},
		{"metadata name", wheeltest.Wheel{Files: files, Metadata: "Name: evil\nVersion: 1.0\n"}, "", `project "evil"`},
		{"metadata version", wheeltest.Wheel{Files: files, Metadata: "Name: demo\nVersion: 2.0\n"}, "", `version "2.0"`},
		{"metadata empty", wheeltest.Wheel{Files: files, Metadata: "\n"}, "", "no name or no version"},
		{"tags", wheeltest.Wheel{Files: files, WHEEL: "Wheel-Version: 1.0\nTag: cp314-cp314-linux_x86_64\n"}, "", "its WHEEL file does not"},
		{"format", wheeltest.Wheel{Files: files, WHEEL: "Wheel-Version: 2.0\nTag: py3-none-any\n"}, "", "only 1.x"},
		{"data scheme", wheeltest.Wheel{Files: with("demo-1.0.data/bin/x", "")}, "", "unknown part"},
		{"data collision", wheeltest.Wheel{Files: with("demo-1.0.data/purelib/demo.py", "y")}, "", "two of its files"},
		{"data case", wheeltest.Wheel{Files: with("demo-1.0.data/purelib/DEMO.py", "y")}, "", "differ in case"},
		{"record missing", wheeltest.Wheel{Files: files, Record: func(string) string { return "" }}, "", "no demo-1.0.dist-info/RECORD"},
		{"record of fewer", wheeltest.Wheel{Files: files, Entries: []wheeltest.Entry{{Name: "extra.py"}}}, "", "not in RECORD"},
		{"record of more", wheeltest.Wheel{Files: files, Record: func(s string) string { return s + "more.py,sha256=" + strings.Repeat("A", 43) + ",1\n" }}, "", "not in the wheel"},
		{"record size", wheeltest.Wheel{Files: files, Record: func(s string) string { return strings.Replace(s, ",6\n", ",7\n", 1) }}, "", "in RECORD 7"},
		{"record md5", wheeltest.Wheel{Files: files, Record: func(s string) string { return strings.Replace(s, "sha256=", "md5=", 1) }}, "", "not SHA-256"},
		{"record fields", wheeltest.Wheel{Files: files, Record: func(s string) string { return s + "a,b\n" }}, "", "2 fields"},
		{"record without hash", wheeltest.Wheel{Files: files, Entries: []wheeltest.Entry{{Name: "e.py"}}, Record: func(s string) string { return s + "e.py,,0\n" }}, "", "no hash"},
		{"record twice", wheeltest.Wheel{Files: files, Record: func(s string) string { return s + "demo.py,,\n" }}, "", "two different lines"},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			test.wheel.Filename = name
			opened := name
			if test.name != "" {
				opened = test.name
			}
			_, err := open(t, opened, test.wheel.Build())
			checkRefused(t, err, test.want)
		})
	}
}

func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	if _, ok := errors.AsType[*wheel.RefusedError](err); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want a refusal with %q", err, want)
	}
}

// Some builders write hashes in hexadecimal.
func TestInstallHex(t *testing.T) {
	hash := regexp.MustCompile(`sha256=([\w-]{43})`)
	w, err := open(t, name, wheeltest.Wheel{
		Filename: name, Files: map[string]string{"demo.py": "x = 1\n"},
		Record: func(s string) string {
			return hash.ReplaceAllStringFunc(s, func(h string) string {
				sum, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(h, "sha256="))
				if err != nil {
					t.Fatal(err)
				}
				return "sha256=" + hex.EncodeToString(sum)
			})
		},
	}.Build())
	if err == nil {
		err = w.InstallTo(context.Background(), t.TempDir(), nil)
	}
	if err != nil {
		t.Error(err)
	}
}

// A wrong hash is only found when the file is read.
func TestInstallWrongHash(t *testing.T) {
	data := wheeltest.Wheel{
		Filename: name, Files: map[string]string{"demo.py": "x = 1\n"},
		Record: func(s string) string {
			line, rest, _ := strings.Cut(s, "\n")
			if !strings.HasPrefix(line, "demo-1.0.dist-info/METADATA") {
				t.Fatalf("first line %q", line)
			}
			return "demo-1.0.dist-info/METADATA,sha256=" + strings.Repeat("A", 43) + "," +
				line[strings.LastIndexByte(line, ',')+1:] + "\n" + rest
		},
	}.Build()
	w, err := open(t, name, data)
	if err != nil {
		t.Fatal(err)
	}
	checkRefused(t, w.InstallTo(context.Background(), t.TempDir(), nil), "another hash than RECORD")
}

func TestDamagedArchive(t *testing.T) {
	good := wheeltest.Wheel{Filename: name, Files: map[string]string{"demo.py": strings.Repeat("x = 1\n", 100)}}.Build()
	directory := bytes.Index(good, []byte("PK\x01\x02"))
	end := len(good) - 22
	change := func(at int, to ...byte) []byte {
		b := slices.Clone(good)
		copy(b[at:], to)
		return b
	}
	tests := []struct {
		what string
		data []byte
		want string
	}{
		{"empty", nil, "too short"},
		{"text", bytes.Repeat([]byte("x"), 100), "end record"},
		{"cut", good[:len(good)-5], "end record"},
		{"appended", append(slices.Clone(good), "junk"...), "end record"},
		{"prepended", append([]byte("junk"), good...), "does not end where"},
		{"comment", append(change(end+20, 4, 0), "note"...), "end record"},
		{"parts", change(end+4, 1), "several parts"},
		{"zip64 count", change(end+8, 0xff, 0xff, 0xff, 0xff), "zip64"},
		{"too few", change(end+8, 1, 0, 1, 0), "zip directory cannot be read"},
		{"too many", change(end+8, 99, 0, 99, 0), "too short for its entries"},
		{"encrypted", change(directory+8, good[directory+8]|1), "encrypted"},
		{"gap", slices.Insert(slices.Clone(change(end+16, byte(directory+1), byte((directory+1)>>8))), directory, 'x'), "belong to no entry"},
		{"directory gap", slices.Insert(slices.Clone(change(end+12, byte(end-directory+1))), end, 'x'), "after the last entry"},
		{"method", change(directory+10, 14), "unknown method 14"},
		{"local name", change(30, 'X'), "differs from the directory"},
		{"local method", change(8, 0), "differs from the directory"},
		{"local magic", change(0, 'X'), "no local header"},
		{"offset", change(directory+42, 1), "no local header"},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			_, err := open(t, name, test.data)
			checkRefused(t, err, test.want)
		})
	}
}

// Some writers give an entry's sizes in a zip64 field, too, or only there, in
// the local header alone.
func TestZip64Sizes(t *testing.T) {
	for _, test := range []struct {
		what  string
		plain uint32 // in the local header, 0 for the true size
		large [2]uint64
		want  string
	}{
		{"both", 0, [2]uint64{4, 4}, ""},
		{"only in the field", 0xffffffff, [2]uint64{4, 4}, ""},
		{"two sizes", 0, [2]uint64{4, 1 << 40}, "differs from the directory"},
		{"another size", 0xffffffff, [2]uint64{5, 4}, "differs from the directory"},
		{"another plain size", 5, [2]uint64{4, 4}, "differs from the directory"},
	} {
		t.Run(test.what, func(t *testing.T) {
			data := wheeltest.Wheel{Filename: name, Files: map[string]string{"demo.py": "x=1\n"}, Zip64: &test.large}.Build()
			if at := bytes.Index(data, []byte("demo.py")) - 30; test.plain != 0 {
				binary.LittleEndian.PutUint32(data[at+18:], test.plain)
				binary.LittleEndian.PutUint32(data[at+22:], test.plain)
			}
			w, err := open(t, name, data)
			if test.want != "" {
				checkRefused(t, err, test.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := w.InstallTo(context.Background(), t.TempDir(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOverlappingEntries(t *testing.T) {
	good := wheeltest.Wheel{Filename: name, Files: map[string]string{"aaaa.py": "x = 1\n", "bbbb.py": "x = 1\n"}}.Build()
	first := bytes.Index(good, []byte("PK\x01\x02"))
	second := first + 4 + bytes.Index(good[first+4:], []byte("PK\x01\x02"))
	// Both directory entries point at the first file.
	copy(good[second+42:second+46], good[first+42:first+46])
	_, err := open(t, name, good)
	checkRefused(t, err, "overlaps")
}

func TestBombs(t *testing.T) {
	data := wheeltest.Wheel{Filename: name, Files: map[string]string{"zeros.bin": strings.Repeat("\x00", 3<<20)}}.Build()
	limits := wheel.DefaultLimits
	limits.RatioFrom = 1 << 20
	tests := []struct {
		what   string
		change func(*wheel.Limits)
		want   string
	}{
		{"ratio", func(*wheel.Limits) {}, "looks like a bomb"},
		{"total", func(l *wheel.Limits) { l.TotalBytes = 1 << 20 }, "more than 1048576 bytes"},
		{"entries", func(l *wheel.Limits) { l.Entries = 2 }, "it has 4 entries"},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			l := limits
			test.change(&l)
			_, err := wheel.Open(bytes.NewReader(data), int64(len(data)), name, l)
			checkRefused(t, err, test.want)
		})
	}
}

// The sizes in the headers are not believed, even when all of them and RECORD
// agree: an entry that inflates to more than it claims is refused while it is
// inflated, one that inflates to less when it ends.
func TestLyingSize(t *testing.T) {
	for size, want := range map[byte]string{6: "longer than it claims", 200: "shorter than it claims"} {
		data := wheeltest.Wheel{
			Filename: name,
			Files:    map[string]string{"aaa.py": strings.Repeat("x = 1\n", 20)},
			Record:   func(s string) string { return strings.Replace(s, ",120\n", fmt.Sprintf(",%d\n", size), 1) },
		}.Build()
		// It is the first entry, so its descriptor and directory entry are, too.
		data[bytes.Index(data, []byte("PK\x07\x08"))+12] = size
		data[bytes.Index(data, []byte("PK\x01\x02"))+24] = size
		w, err := open(t, name, data)
		if err != nil {
			t.Fatal(err)
		}
		checkRefused(t, w.InstallTo(context.Background(), t.TempDir(), nil), want)
	}
}

func TestParseName(t *testing.T) {
	n, err := wheel.ParseName("Foo.Bar_baz-1.0.0-2-py2.py3-none-any.whl")
	if err != nil {
		t.Fatal(err)
	}
	if n.Project != "foo-bar-baz" || n.Build != 2 || len(n.Tags) != 2 || !wheel.SameVersion(n.Version, "1.0") {
		t.Errorf("got %+v", n)
	}
	for _, bad := range []string{
		"", "x.whl", "a-1.tar.gz", "a-1-py3-none.whl", "a-1-x-py3-none-any.whl", "../a-1-py3-none-any.whl",
		"a b-1-py3-none-any.whl", "a-1-py3-none-any.whl\x00", strings.Repeat("a", 300) + "-1-py3-none-any.whl",
	} {
		_, err := wheel.ParseName(bad)
		checkRefused(t, err, "wheel")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(wheeltest.Wheel{Filename: name, Files: map[string]string{"demo.py": "x = 1\n"}}.Build())
	f.Add(wheeltest.Wheel{Filename: name, Files: map[string]string{"../x": "", "demo-1.0.data/purelib/y.py": "1"}}.Build())
	f.Add(wheeltest.Wheel{Filename: name, Entries: []wheeltest.Entry{{Name: "l", Text: "x", Mode: fs.ModeSymlink}}}.Build())
	limits := wheel.Limits{Entries: 100, TotalBytes: 1 << 20, NameBytes: 200, Ratio: 100, RatioFrom: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := wheel.Open(bytes.NewReader(data), int64(len(data)), name, limits)
		if err != nil {
			return
		}
		parent := t.TempDir()
		dir := filepath.Join(parent, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = w.InstallTo(context.Background(), dir, nil)
		if around, _ := os.ReadDir(parent); len(around) != 1 {
			t.Errorf("files outside the directory: %v", around)
		}
	})
}
