//go:build !unix

package process

import (
	"io"
	"os"
	"syscall"
)

// ownGroup returns nil: there are no process groups here.
func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }

// groupLives reports false: there are no process groups here.
func groupLives(*os.Process) bool { return false }

// maxRSS is not known here.
func maxRSS(*os.ProcessState) int64 { return 0 }

// readNow is never needed: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }

// openPipe makes a file: there are no named pipes here.
func openPipe(name string) (*os.File, error) { return nil, os.WriteFile(name, nil, 0o600) }
