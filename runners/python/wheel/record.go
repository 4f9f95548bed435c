package wheel

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// recordEntry is one line of RECORD.
type recordEntry struct {
	algorithm string // "sha256", "sha384", "sha512"; "" for files that have none
	sum       string // hexadecimal
	size      int64  // -1 when not given
}

// hashBytes has the digests that RECORD may use, with their lengths in bytes. MD5 and
// SHA-1 are forbidden by the specification.
var hashBytes = map[string]int{"sha256": 32, "sha384": 48, "sha512": 64}

func parseRecord(raw []byte) (map[string]recordEntry, error) {
	r := csv.NewReader(bytes.NewReader(raw))
	r.FieldsPerRecord = -1
	record := map[string]recordEntry{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return record, nil
		}
		if err != nil {
			return nil, fmt.Errorf("its RECORD cannot be read: %v", err)
		}
		if len(row) != 3 {
			return nil, fmt.Errorf("its RECORD has a line of %d fields, not 3", len(row))
		}
		e, err := parseRecordEntry(row[1], row[2])
		if err != nil {
			return nil, fmt.Errorf("its RECORD has for %q %v", row[0], err)
		}
		path := strings.TrimPrefix(row[0], "./")
		if old, twice := record[path]; twice && old != e {
			return nil, fmt.Errorf("its RECORD has two different lines for %q", path)
		}
		record[path] = e
	}
}

func parseRecordEntry(hash, size string) (recordEntry, error) {
	e := recordEntry{size: -1}
	if size != "" {
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n < 0 {
			return e, fmt.Errorf("the size %q", size)
		}
		e.size = n
	}
	if hash == "" {
		return e, nil
	}
	algorithm, text, ok := strings.Cut(hash, "=")
	length, known := hashBytes[algorithm]
	if !ok || !known {
		return e, fmt.Errorf("a hash that is not SHA-256, SHA-384 or SHA-512: %q", hash)
	}
	sum, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if len(text) == 2*length { // some builders write it in hexadecimal, which no length of Base64 is
		sum, err = hex.DecodeString(text)
	}
	if err != nil || len(sum) != length {
		return e, fmt.Errorf("a malformed hash: %q", hash)
	}
	e.algorithm, e.sum = algorithm, hex.EncodeToString(sum)
	return e, nil
}
