package kernel

import (
	"fmt"
	"io/fs"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// etc are the files of /etc: what programs look up about the machine, nothing of
// which is the host's. localtime is UTC, in version 1 of RFC 9636's format.
var etc = map[string]string{
	"group":       "root:x:0:\n",
	"hostname":    "localhost\n",
	"hosts":       "127.0.0.1\tlocalhost\n",
	"localtime":   "TZif" + strings.Repeat("\x00", 35) + "\x01\x00\x00\x00\x04" + strings.Repeat("\x00", 6) + "UTC\x00",
	"os-release":  "NAME=\"coderunner\"\nID=coderunner\nPRETTY_NAME=\"coderunner's sandbox\"\n",
	"passwd":      "root:x:0:0:root:/home/user:/bin/bash\n",
	"resolv.conf": "# There is no name server: getaddrinfo asks the host.\n",
	"timezone":    "Etc/UTC\n",
}

// LinkHome makes /mnt/data, where programs that were written for another well-known
// sandbox have their files, a link to the working directory.
func LinkHome(fsys *memfs.FS, home string) error {
	if err := fsys.MkdirAll("/mnt", 0o755); err != nil {
		return err
	}
	if errno := fsys.Symlink(home, nil, "/mnt/data"); errno != abi.OK {
		return fmt.Errorf("link /mnt/data: %w", errno.Err())
	}
	return nil
}

// MakeDirs makes the directories of a system: /bin and /usr/bin, which show bin, /etc,
// /proc and /sys. It is for file systems of which kernels get clones. Files of /etc of
// which hosts reports that the host's are there instead are left out.
func MakeDirs(fsys *memfs.FS, bin fs.FS, hosts func(path string) bool) error {
	for _, dir := range append(machineDirs, "/etc") {
		if err := fsys.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make %s: %w", dir, err)
		}
	}
	for _, name := range names(etc) {
		if at := "/etc/" + name; !hosts(at) {
			if err := fsys.MountFile(at, []byte(etc[name])); err != nil {
				return err
			}
		}
	}
	for _, dir := range []string{"/bin", "/usr/bin"} {
		if err := fsys.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := fsys.MountInto(dir, bin); err != nil {
			return err
		}
	}
	return nil
}
