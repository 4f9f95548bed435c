package layout

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
)

// field is where a struct's encoding must have a value: the offset that
// Emscripten's struct_info_generated.json gives, and the C type's size.
type field struct {
	name      string
	off, size int
	want      uint64
}

// checkLayout encodes into memory full of 0xaa and checks every field, that
// nothing past size was touched, and that the rest is zero padding.
func checkLayout(t *testing.T, name string, size int, put func([]byte), fields []field) {
	t.Helper()
	b := bytes.Repeat([]byte{0xaa}, size+8)
	put(b)
	for _, f := range fields {
		var w [8]byte
		copy(w[:], b[f.off:f.off+f.size])
		if got := binary.LittleEndian.Uint64(w[:]); got != f.want {
			t.Errorf("%s.%s at %d = %#x, want %#x", name, f.name, f.off, got, f.want)
		}
		clear(b[f.off : f.off+f.size])
	}
	for i, c := range b {
		if i >= size && c != 0xaa {
			t.Errorf("%s: byte %d past the end was written", name, i)
		}
		if i < size && c != 0 {
			t.Errorf("%s: byte %d is in no field and is %#x", name, i, c)
		}
	}
}

func TestLayouts(t *testing.T) {
	st := abi.Stat{
		Dev: 1, Mode: 2, Nlink: 3, UID: 4, GID: 5, Rdev: 6, Size: 1 << 40, Blksize: 7, Blocks: 8,
		Atime: abi.Timespec{Sec: -9, Nsec: 10}, Mtime: abi.Timespec{Sec: 11, Nsec: 12}, Ctime: abi.Timespec{Sec: 13, Nsec: 14}, Ino: 1 << 50,
	}
	checkLayout(t, "stat", 96, func(b []byte) { PutStat(b, &st) }, []field{
		{"st_dev", 0, 4, 1}, {"st_mode", 4, 4, 2}, {"st_nlink", 8, 4, 3}, {"st_uid", 12, 4, 4},
		{"st_gid", 16, 4, 5}, {"st_rdev", 20, 4, 6}, {"st_size", 24, 8, 1 << 40},
		{"st_blksize", 32, 4, 7}, {"st_blocks", 36, 4, 8},
		{"st_atim.tv_sec", 40, 8, 1<<64 - 9}, {"st_atim.tv_nsec", 48, 4, 10},
		{"st_mtim.tv_sec", 56, 8, 11}, {"st_mtim.tv_nsec", 64, 4, 12},
		{"st_ctim.tv_sec", 72, 8, 13}, {"st_ctim.tv_nsec", 80, 4, 14}, {"st_ino", 88, 8, 1 << 50},
	})
	sfs := abi.Statfs{
		Type: 1, Bsize: 2, Blocks: 3, Bfree: 4, Bavail: 5, Files: 6, Ffree: 7, Fsid: 8, Namelen: 9, Frsize: 10, Flags: 11,
	}
	checkLayout(t, "statfs", 88, func(b []byte) { PutStatfs(b, &sfs) }, []field{
		{"f_type", 0, 4, 1}, {"f_bsize", 4, 4, 2}, {"f_blocks", 8, 8, 3}, {"f_bfree", 16, 8, 4},
		{"f_bavail", 24, 8, 5}, {"f_files", 32, 8, 6}, {"f_ffree", 40, 8, 7}, {"f_fsid", 48, 8, 8},
		{"f_namelen", 56, 4, 9}, {"f_frsize", 60, 4, 10}, {"f_flags", 64, 4, 11},
	})
	d := abi.Dirent{Ino: 1, Off: 2, Type: abi.DT_REG, Name: "abc"}
	checkLayout(t, "dirent", 280, func(b []byte) { PutDirent(b, &d) }, []field{
		{"d_ino", 0, 8, 1}, {"d_off", 8, 8, 2}, {"d_reclen", 16, 2, 280}, {"d_type", 18, 1, 8},
		{"d_name", 19, 4, 'a' | 'b'<<8 | 'c'<<16},
	})
	ts := abi.Timespec{Sec: 1, Nsec: 2}
	checkLayout(t, "timespec", 16, func(b []byte) { PutTimespec(b, ts) }, []field{{"tv_sec", 0, 8, 1}, {"tv_nsec", 8, 4, 2}})
	fd := Fdstat{1, 2, 3, 4}
	checkLayout(t, "fdstat", 24, fd.Put, []field{
		{"fs_filetype", 0, 1, 1}, {"fs_flags", 2, 2, 2}, {"fs_rights_base", 8, 8, 3},
		{"fs_rights_inheriting", 16, 8, 4},
	})
	tm := Tm{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	checkLayout(t, "tm", 44, tm.Put, []field{
		{"tm_sec", 0, 4, 1}, {"tm_min", 4, 4, 2}, {"tm_hour", 8, 4, 3}, {"tm_mday", 12, 4, 4},
		{"tm_mon", 16, 4, 5}, {"tm_year", 20, 4, 6}, {"tm_wday", 24, 4, 7}, {"tm_yday", 28, 4, 8},
		{"tm_isdst", 32, 4, 9}, {"tm_gmtoff", 36, 4, 10}, {"tm_zone", 40, 4, 0xaaaaaaaa},
	})
}

func TestDecode(t *testing.T) {
	b := []byte{1, 0, 0, 0, 2, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0}
	if got, want := DecodePollfd(b), (Pollfd{1, 2, 3}); got != want {
		t.Errorf("DecodePollfd = %v, want %v", got, want)
	}
	ts := abi.Timespec{Sec: -5, Nsec: abi.UTIME_OMIT}
	PutTimespec(b, ts)
	if got := DecodeTimespec(b); got != ts {
		t.Errorf("DecodeTimespec = %v, want %v", got, ts)
	}
	PutRevents(b, abi.POLLHUP)
	if got := DecodePollfd(b).Revents; got != abi.POLLHUP {
		t.Errorf("revents = %#x, want POLLHUP", got)
	}
	m := Tm{1, 2, 3, 4, 5, 6, 7, 8, 9, -10}
	big := make([]byte, TmSize)
	m.Put(big)
	if got := DecodeTm(big); got != m {
		t.Errorf("DecodeTm = %v, want %v", got, m)
	}
}

func TestLongName(t *testing.T) {
	b := make([]byte, DirentSize)
	d := abi.Dirent{Name: string(bytes.Repeat([]byte("n"), 300))}
	PutDirent(b, &d)
	if b[19+254] != 'n' || b[19+255] != 0 {
		t.Errorf("a name of 300 bytes ends in %v", b[19+250:])
	}
}

func TestBlocksSaturate(t *testing.T) {
	b := make([]byte, StatSize)
	PutStat(b, &abi.Stat{Blocks: 1 << 40})
	if got := int32(binary.LittleEndian.Uint32(b[36:])); got != 1<<31-1 {
		t.Errorf("st_blocks = %d", got)
	}
}

func TestTm(t *testing.T) {
	zone := time.FixedZone("X", -3600)
	got := NewTm(time.Date(2024, time.December, 31, 23, 58, 59, 0, zone))
	if want := (Tm{59, 58, 23, 31, 11, 124, 2, 365, 0, -3600}); got != want {
		t.Errorf("NewTm = %+v, want %+v", got, want)
	}
}

// FuzzSockaddr: what can be decoded survives being encoded.
func FuzzSockaddr(f *testing.F) {
	for _, a := range []abi.Sockaddr{
		{Family: abi.AF_INET, IP: netip.MustParseAddrPort("127.0.0.1:80")}, {Family: abi.AF_UNIX, Path: "/tmp/s"}, {Family: abi.AF_UNIX, Path: "\x00abstract\x00"},
		{Family: abi.AF_INET6, IP: netip.MustParseAddrPort("[::1]:443"), Flow: 1, Scope: 2}, {Family: abi.AF_UNIX}, {},
	} {
		f.Add(EncodeSockaddr(a))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, e := DecodeSockaddr(b)
		if e != abi.OK {
			return
		}
		if again, e := DecodeSockaddr(EncodeSockaddr(a)); e != abi.OK || again != a {
			t.Errorf("%+v becomes %+v, %v", a, again, e)
		}
	})
}
