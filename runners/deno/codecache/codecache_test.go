package codecache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCollect has a process leave something else in the place of databases.
func TestCollect(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cr3t"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, leave := range map[string]func(code string) error{
		"nothing":      func(code string) error { return os.Mkdir(code, 0o700) },
		"no directory": func(code string) error { return nil },
		"a link to a file": func(code string) error {
			return errors.Join(os.Mkdir(code, 0o700), os.Symlink(secret, filepath.Join(code, Names[0])))
		},
		"a link to a directory": func(code string) error {
			return errors.Join(os.Rename(secret, filepath.Join(filepath.Dir(secret), Names[0])), os.Symlink(filepath.Dir(secret), code))
		},
		"a directory": func(code string) error { return os.MkdirAll(filepath.Join(code, Names[0]), 0o700) },
		"too much": func(code string) error {
			f, err := os.Create(filepath.Join(filepath.Dir(code), "large"))
			if err != nil {
				return err
			}
			defer f.Close()
			return errors.Join(f.Truncate(maxSize+1), os.Mkdir(code, 0o700), os.Rename(f.Name(), filepath.Join(code, Names[0])))
		},
	} {
		root, to := t.TempDir(), t.TempDir()
		if err := leave(filepath.Join(root, "code")); err != nil {
			t.Fatal(err)
		}
		err := Collect(root, "code", to)
		entries, derr := os.ReadDir(to)
		if err == nil || derr != nil || len(entries) != 0 {
			t.Errorf("%s: %v, and %v, %v are taken", name, err, entries, derr)
		}
	}
}
