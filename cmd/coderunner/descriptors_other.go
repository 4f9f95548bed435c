//go:build !unix

package main

// keepDescriptors has nothing to do: descriptors are not inherited here unless
// one asks for it.
func keepDescriptors() {}
