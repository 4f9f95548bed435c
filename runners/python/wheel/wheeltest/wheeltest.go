// Package wheeltest builds small wheels for tests.
package wheeltest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Wheel describes a wheel to build. Zero fields have the values of a correct wheel.
type Wheel struct {
	Filename string            // required
	Files    map[string]string // path to text
	Requires []string          // Requires-Dist
	Headers  []string          // more lines of METADATA
	Metadata string            // instead of the METADATA that is made
	WHEEL    string            // instead of the WHEEL that is made
	Record   func(string) string
	// Entries are added as they are, after everything else, and are not in
	// RECORD.
	Entries []Entry
	// Zip64, if not nil, is the unpacked and the packed size in the zip64
	// field of each of Files, which are stored then.
	Zip64 *[2]uint64
	// NoInfo leaves the .dist-info directory out.
	NoInfo bool
}

// Entry is one more entry of the archive.
type Entry struct {
	Name string
	Text string
	Mode fs.FileMode
}

// Build returns the wheel's bytes.
func (w Wheel) Build() []byte {
	parts := strings.Split(strings.TrimSuffix(w.Filename, ".whl"), "-")
	info := parts[0] + "-" + parts[1] + ".dist-info/"
	files := maps.Clone(w.Files)
	if files == nil {
		files = map[string]string{}
	}
	if !w.NoInfo {
		files[info+"METADATA"] = w.metadata(parts)
		files[info+"WHEEL"] = w.wheel(parts)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	var record strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, own := w.Files[name]; own && w.Zip64 != nil {
			addLarge(z, name, files[name], *w.Zip64)
		} else {
			add(z, Entry{Name: name, Text: files[name]})
		}
		sum := sha256.Sum256([]byte(files[name]))
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", quote(name),
			base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	text := record.String()
	if w.Record != nil {
		text = w.Record(text)
	}
	if text != "" && !w.NoInfo {
		add(z, Entry{Name: info + "RECORD", Text: text})
	}
	for _, e := range w.Entries {
		add(z, e)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// quote writes a CSV field.
func quote(field string) string {
	if strings.ContainsAny(field, "\",\r\n") {
		return `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
	}
	return field
}

// SHA256 returns the hexadecimal digest of a wheel's bytes.
func SHA256(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

func (w Wheel) metadata(parts []string) string {
	if w.Metadata != "" {
		return w.Metadata
	}
	text := "Metadata-Version: 2.1\nName: " + parts[0] + "\nVersion: " + parts[1] + "\n"
	for _, r := range w.Requires {
		text += "Requires-Dist: " + r + "\n"
	}
	for _, h := range w.Headers {
		text += h + "\n"
	}
	return text + "\nA description: with a colon\n"
}

func (w Wheel) wheel(parts []string) string {
	if w.WHEEL != "" {
		return w.WHEEL
	}
	tag := strings.Join(parts[len(parts)-3:], "-")
	return "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: " + tag + "\n"
}

// add writes an entry. archive/zip puts the sizes into a data descriptor; the
// wheel tests write other forms byte by byte.
func add(z *zip.Writer, e Entry) {
	h := &zip.FileHeader{Name: e.Name, Method: zip.Deflate}
	if e.Mode != 0 {
		h.SetMode(e.Mode)
	}
	w, err := z.CreateHeader(h)
	if err == nil {
		_, err = w.Write([]byte(e.Text))
	}
	if err != nil {
		panic(err)
	}
}

// addLarge writes a stored entry that has a zip64 field in its local header
// and none in the directory.
func addLarge(z *zip.Writer, name, text string, sizes [2]uint64) {
	h := &zip.FileHeader{
		Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(text)),
		CompressedSize64: uint64(len(text)), UncompressedSize64: uint64(len(text)),
	}
	h.Extra = binary.LittleEndian.AppendUint16(nil, 1)
	h.Extra = binary.LittleEndian.AppendUint16(h.Extra, 16)
	h.Extra = binary.LittleEndian.AppendUint64(h.Extra, sizes[0])
	h.Extra = binary.LittleEndian.AppendUint64(h.Extra, sizes[1])
	f, err := z.CreateRaw(h)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err != nil {
		panic(err)
	}
	h.Extra = nil // the local header is written
}
