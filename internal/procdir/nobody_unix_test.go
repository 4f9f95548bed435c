//go:build unix

package procdir

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const nobody = 65534

// asNobody runs the test again as a user who is not root.
func asNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "nobody")
	check(t, err)
	defer os.RemoveAll(dir)
	check(t, os.Chmod(dir, 0o755))
	name := filepath.Join(dir, "test")
	from, err := os.Open(os.Args[0])
	check(t, err)
	defer from.Close()
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o755)
	check(t, err)
	_, err = io.Copy(to, from)
	check(t, err)
	check(t, to.Close())
	temp := filepath.Join(dir, "tmp")
	check(t, os.Mkdir(temp, 0o700))
	check(t, os.Chown(temp, nobody, nobody))
	cmd := exec.Command(name, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = temp
	cmd.Env = []string{"TMPDIR=" + temp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}
