//go:build !linux

package codestore

func growHeap() {}
