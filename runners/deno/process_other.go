//go:build !unix

package deno

import (
	"io"
	"os"
	"syscall"
)

// ownGroup: there are no process groups here.
func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }

// awaitExit would wait without reaping, which only Linux can do simply.
func awaitExit(*os.Process) bool { return false }

// confine does nothing: the limit of V8's heap has to do.
func confine(int, int64) (peak int64, err error) { return 0, nil }

// peakMemory is not known here.
func peakMemory(*os.ProcessState) int64 { return 0 }

// readNow is never needed: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }
