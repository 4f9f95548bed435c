//go:build !unix

package testchild

func setUmask(int) {}
