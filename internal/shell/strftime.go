package shell

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// strftime formats a time as C does.
func strftime(format string, t time.Time) string {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'B': "January", 'b': "Jan", 'h': "Jan",
		'A': "Monday", 'a': "Mon", 'p': "PM", 'I': "03", 'F': "2006-01-02", 'T': "15:04:05", 'X': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'x': "01/02/06",
		'Z': "MST", 'z': "-0700", 'e': "_2", 'c': "Mon Jan _2 15:04:05 2006", 'r': "03:04:05 PM"}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch c := format[i]; {
		case layouts[c] != "":
			b.WriteString(t.Format(layouts[c]))
		case c == 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		case c == 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		case c == 'u':
			fmt.Fprint(&b, (int(t.Weekday())+6)%7+1)
		case c == 'w':
			fmt.Fprint(&b, int(t.Weekday()))
		case c == 'V':
			_, week := t.ISOWeek()
			fmt.Fprintf(&b, "%02d", week)
		case c == 'n':
			b.WriteByte('\n')
		case c == 't':
			b.WriteByte('\t')
		case c == '%':
			b.WriteByte('%')
		default:
			b.WriteString(format[i-1 : i+1])
		}
	}
	return b.String()
}
