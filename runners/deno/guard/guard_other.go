//go:build !linux || !(amd64 || arm64)

package guard

import (
	"net/netip"

	"coderunner/internal/netpolicy"
	"coderunner/internal/sandbox"
)

// Guard supervises nothing here.
type Guard struct{}

// NameServers returns nothing.
func NameServers() []netip.Addr { return nil }

// CanLeave reports that processes have no networks of their own.
func CanLeave() bool { return false }

// Attach is not called here.
func (g *Guard) Attach(*sandbox.Calls) {}

// SetRun does nothing.
func (g *Guard) SetRun(*netpolicy.Run) {}

// Settle does nothing.
func (g *Guard) Settle() {}

// Close does nothing.
func (g *Guard) Close() {}
