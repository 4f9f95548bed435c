package file

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// maxBlock bounds the buffer of dd.
const maxBlock = 64 << 20

// dd is a running dd: its operands, and what it has copied.
type dd struct {
	c          *command.Call
	value      map[string]string          // if, of and status
	number     map[string]int64           // bs, count, skip and the like; -1: not given
	flag       map[string]map[string]bool // conv, iflag and oflag
	in         io.Reader
	out        io.Writer
	read, rest int64 // whole and partial blocks
	wrote, cut int64 // likewise
	bytes      int64
}

// ddFlags are the words that conv, iflag and oflag take. Those without effect on files
// in memory are known, too.
var ddFlags = map[string][]string{
	"conv":  strings.Fields("notrunc sync noerror ucase lcase swab excl nocreat fsync fdatasync sparse"),
	"iflag": strings.Fields("fullblock count_bytes skip_bytes direct nonblock noatime nocache sync dsync"),
	"oflag": strings.Fields("append seek_bytes direct nonblock nocache sync dsync"),
}

// Dd copies a file in blocks.
func Dd(c *command.Call) int {
	d := &dd{
		c: c, value: map[string]string{"if": "", "of": "", "status": ""},
		number: map[string]int64{"bs": -1, "ibs": -1, "obs": -1, "cbs": -1, "count": -1, "skip": -1, "iseek": -1, "seek": -1, "oseek": -1},
		flag:   map[string]map[string]bool{"conv": {}, "iflag": {}, "oflag": {}},
	}
	args := c.Parse("+").Args
	for _, arg := range args {
		if !d.operand(arg) {
			return c.Usage(1, "unrecognized operand %s", command.Quote(arg))
		}
	}
	ibs := cmp.Or(max(d.number["bs"], 0), max(d.number["ibs"], 0), 512)
	obs := cmp.Or(max(d.number["bs"], 0), max(d.number["obs"], 0), 512)
	if max(ibs, obs) > maxBlock {
		return c.Die(1, "memory exhausted by input buffer of size %d bytes", max(ibs, obs))
	}
	c.Must(c.Reserve(ibs))
	start := time.Now()
	d.open(ibs, obs)
	err := d.copy(ibs, obs)
	d.report(time.Since(start))
	if err != nil && !errors.Is(err, command.ErrStopped) {
		return c.Die(1, "%s", err)
	}
	return c.Status
}

// operand reads NAME=VALUE.
func (d *dd) operand(arg string) bool {
	name, value, _ := strings.Cut(arg, "=")
	if _, ok := d.value[name]; ok {
		d.value[name] = value
		return true
	}
	if _, ok := d.number[name]; ok {
		d.number[name] = d.size(name, value)
		return true
	}
	if set, ok := d.flag[name]; ok {
		for word := range strings.SplitSeq(value, ",") {
			if !strings.Contains(" "+strings.Join(ddFlags[name], " ")+" ", " "+word+" ") {
				what := map[string]string{"conv": "conversion", "iflag": "input flag", "oflag": "output flag"}[name]
				d.c.Exit(1, "invalid %s: %s\nTry 'dd --help' for more information.", what, command.Quote(word))
			}
			set[word] = true
		}
		return true
	}
	return false
}

// size reads a number with a unit, or a product of such: 2x1M.
func (d *dd) size(name, text string) int64 {
	product := int64(1)
	bare, asBytes := strings.CutSuffix(text, "B") // 10B are bytes, 1kB and 1MiB units
	if asBytes = asBytes && bare != "" && bare[len(bare)-1] <= '9'; !asBytes {
		bare = text
	}
	for part := range strings.SplitSeq(bare, "x") {
		words := strings.HasSuffix(part, "w")
		n, ok := command.Size(strings.TrimSuffix(part, "w"))
		if words {
			n *= 2
		}
		if !ok || part == "" || n < 0 || n > 0 && product > math.MaxInt64/n {
			d.c.Exit(1, "invalid number: %s", command.Quote(text))
		}
		product *= n
	}
	if product == 0 && strings.HasSuffix(name, "bs") {
		d.c.Exit(1, "invalid number: %s", command.Quote(text))
	}
	if in := map[string]string{"count": "count_bytes", "skip": "skip_bytes", "iseek": "skip_bytes"}[name]; asBytes && in != "" {
		d.flag["iflag"][in] = true
	} else if asBytes && (name == "seek" || name == "oseek") {
		d.flag["oflag"]["seek_bytes"] = true
	}
	return product
}

// open opens both files and goes to where copying begins.
func (d *dd) open(ibs, obs int64) {
	c := d.c
	d.in, d.out = c.In(), c.Out
	if name := d.value["if"]; name != "" {
		r, err := c.Open(name)
		c.Need(err, 1, "failed to open %s", command.Quote(name))
		c.Files, d.in = append(c.Files, r), r
	}
	skip := max(d.number["skip"], d.number["iseek"], 0)
	if !d.flag["iflag"]["skip_bytes"] {
		skip *= ibs
	}
	if n, _ := io.CopyN(io.Discard, d.in, skip); n < skip && d.value["if"] != "" {
		c.Errorf("%s: cannot skip to specified offset", command.Quote(d.value["if"]))
	}
	seek := max(d.number["seek"], d.number["oseek"], 0)
	if !d.flag["oflag"]["seek_bytes"] {
		seek *= obs
	}
	if name := d.value["of"]; name != "" {
		d.out = d.create(name, seek)
	}
}

// create opens the output, which keeps its first seek bytes, with notrunc all.
func (d *dd) create(name string, seek int64) io.Writer {
	c, conv := d.c, d.flag["conv"]
	flags := uint32(abi.O_WRONLY | abi.O_CREAT)
	if conv["nocreat"] {
		flags &^= abi.O_CREAT
	}
	if conv["excl"] {
		flags |= abi.O_EXCL
	}
	if d.flag["oflag"]["append"] {
		flags |= abi.O_APPEND
	}
	f, err := c.OpenFile(name, flags, 0o666)
	if err == nil {
		c.Files = append(c.Files, f)
		if st := f.F.Stat(); !conv["notrunc"] && st.Mode&abi.S_IFMT == abi.S_IFREG {
			err = f.F.Truncate(seek).Err()
		}
	}
	c.Need(err, 1, "failed to open %s", command.Quote(name))
	if seek > 0 {
		if _, err := f.Seek(seek, io.SeekStart); err != nil {
			c.Exit(1, "%s: cannot seek: %s", command.Quote(name), command.Text(err))
		}
	}
	return f
}

// copy copies count blocks, or all.
func (d *dd) copy(ibs, obs int64) error {
	left, inBytes := d.number["count"], d.flag["iflag"]["count_bytes"]
	block := make([]byte, ibs)
	full := d.flag["iflag"]["fullblock"]
	var pending int64 // of a block of output that is not full
	for left != 0 {
		want := ibs
		if inBytes && left >= 0 {
			want = min(want, left)
		}
		n, err := d.block(block[:want], full)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				break
			}
			return fmt.Errorf("error reading %s: %s", command.Quote(cmp.Or(d.value["if"], "standard input")), command.Text(err))
		}
		if int64(n) == ibs {
			d.read++
		} else {
			d.rest++
		}
		b := d.convert(block[:n], ibs)
		if _, err := d.out.Write(b); err != nil {
			return fmt.Errorf("error writing %s: %s", command.Quote(cmp.Or(d.value["of"], "standard output")), command.Text(err))
		}
		d.bytes += int64(len(b))
		if d.number["bs"] > 0 {
			d.wrote, d.cut = d.wrote+int64(len(b))/obs, d.cut+int64(min(1, int64(len(b))%obs))
		} else {
			pending += int64(len(b))
			d.wrote, pending = d.wrote+pending/obs, pending%obs
		}
		switch {
		case inBytes && left > 0:
			left -= int64(n)
		case left > 0:
			left--
		}
	}
	d.cut += min(1, pending)
	return nil
}

// block reads one block: what one read returns, or with full all of it.
func (d *dd) block(b []byte, full bool) (n int, err error) {
	if full {
		n, err = io.ReadFull(d.in, b)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		return n, err
	}
	for range 100 {
		if n, err = d.in.Read(b); n > 0 || err != nil {
			break
		}
	}
	return n, err
}

// convert is what conv says of a block.
func (d *dd) convert(b []byte, ibs int64) []byte {
	conv := d.flag["conv"]
	switch {
	case conv["ucase"]:
		b = bytes.ToUpper(b)
	case conv["lcase"]:
		b = bytes.ToLower(b)
	}
	if conv["swab"] {
		for i := 0; i+1 < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	}
	if conv["sync"] && int64(len(b)) < ibs {
		b = append(b, make([]byte, ibs-int64(len(b)))...)
	}
	return b
}

// report writes what was copied to standard error.
func (d *dd) report(took time.Duration) {
	status := d.value["status"]
	if status == "none" {
		return
	}
	d.c.Warnf("%d+%d records in\n%d+%d records out\n", d.read, d.rest, d.wrote, d.cut)
	if status == "noxfer" {
		return
	}
	size := fmt.Sprintf("%d bytes", d.bytes)
	if d.bytes == 1 {
		size = "1 byte"
	}
	if d.bytes >= 1000 {
		size += " (" + ddHuman(d.bytes, 1000, "B")
		if d.bytes >= 1024 {
			size += ", " + ddHuman(d.bytes, 1024, "iB")
		}
		size += ")"
	}
	seconds := max(took.Seconds(), 1e-9)
	rate := ddHuman(int64(float64(d.bytes)/seconds), 1000, "B")
	d.c.Warnf("%s copied, %s s, %s/s\n", size, strconv.FormatFloat(seconds, 'g', 6, 64), rate)
}

// ddHuman is a size as dd prints it: 10 MB, 9.5 MiB.
func ddHuman(n int64, base float64, unit string) string {
	s, power := command.Scale(float64(n), base, -1, math.Round)
	return s + " " + command.Prefix(base, power) + unit
}
