//go:build !unix

package process

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// ownGroup returns nil: there are no process groups here.
func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process)      { _ = p.Kill() }
func interruptGroup(p *os.Process) { _ = p.Kill() }

// groupLives reports false: there are no process groups here.
func groupLives(*os.Process) bool { return false }

// maxRSS is not known here.
func maxRSS(*os.ProcessState) int64 { return 0 }

// readNow is never needed: pipes have no deadlines here.
func readNow(*os.File, []byte) (int, error) { return 0, io.EOF }

// OpenPipe makes a file: there are no named pipes here.
func OpenPipe(name string) (*os.File, error) { return nil, os.WriteFile(name, nil, 0o600) }

// stopGroup and continueGroup are never needed: no process is paused here.
func stopGroup(*os.Process)     {}
func continueGroup(*os.Process) {}

// makeInput fails: there are no named pipes here.
func makeInput(string) (theirs, ours *os.File, err error) { return nil, nil, errors.ErrUnsupported }

// reopenInput fails, as makeInput does.
func reopenInput(string) (*os.File, error) { return nil, errors.ErrUnsupported }
