package layout

// WASI file types (__wasi_filetype_t).
const (
	FiletypeUnknown   uint8 = 0
	FiletypeDirectory uint8 = 3
	FiletypeRegular   uint8 = 4
	FiletypeSymlink   uint8 = 7
)

// WASI descriptor flags (__wasi_fdflags_t).
const (
	FdflagsAppend   uint16 = 1
	FdflagsNonblock uint16 = 4
)

// FdstatSize is the size of __wasi_fdstat_t:
//
//	 0          2       4     8             16                   24
//	| filetype | flags | pad | rights_base | rights_inheriting |
const FdstatSize = 24

// Fdstat is __wasi_fdstat_t.
type Fdstat struct {
	Filetype         uint8
	Flags            uint16
	RightsBase       uint64
	RightsInheriting uint64
}

// Put writes s to the first FdstatSize bytes of b.
func (s *Fdstat) Put(b []byte) {
	clear(b[:FdstatSize])
	b[0] = s.Filetype
	le.PutUint16(b[2:], s.Flags)
	le.PutUint64(b[8:], s.RightsBase)
	le.PutUint64(b[16:], s.RightsInheriting)
}
