//go:build unix

package testchild

import "syscall"

func setUmask(mask int) { syscall.Umask(mask) }
