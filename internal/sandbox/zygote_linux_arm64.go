package sandbox

func (*Zygote) serve(end <-chan struct{})       { <-end }
func (*Zygote) began(int, uintptr, reach, bool) {}
func (*Zygote) has(*namespace)                  {}
