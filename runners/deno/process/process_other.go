//go:build !unix

package process

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// ownGroup returns nil: there are no process groups here.
func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }

// groupLives reports false: there are no process groups here.
func groupLives(*os.Process) bool { return false }

// peakMemory is not known here.
func peakMemory(*os.ProcessState) int64 { return 0 }

// readNow is never needed: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }

// MakePipe makes a file: there are no named pipes here.
func MakePipe(name string) (*Output, error) {
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return nil, fmt.Errorf("make a file: %w", err)
	}
	return nil, nil
}
