package sandbox

import "os"

func (*Zygote) serve(end <-chan struct{})       { <-end }
func (*Zygote) began(int, uintptr, reach, bool) {}
func (*Zygote) has(*namespace)                  {}

func (*Zygote) outside(func(func() error) error)         {}
func (*Zygote) needs(files []*os.File) []*os.File        { return files }
func (*Zygote) kept() bool                               { return false }
func (*Zygote) restore(*stopped, int, reach, bool) error { return errNoZygotes }
