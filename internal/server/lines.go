package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is how long one message may be, in bytes.
const maxLine = 32 << 20

// errLineTooLong is returned for a line longer than the limit. The line has
// been skipped, and reading may go on.
var errLineTooLong = errors.New("message too long")

// lineReader cuts a stream into lines in bounded memory.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns the next line without its end, in memory of its own. The last
// line needs no newline.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > l.max+1; tooLong {
			line = nil // dropped as it comes
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil:
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		case err == io.EOF && (len(line) > 0 || tooLong):
			err = nil // the error comes again at the next call
		}
		if err == nil && tooLong {
			return nil, fmt.Errorf("%w: at most %d MiB", errLineTooLong, l.max>>20)
		}
		return line, err
	}
}
