package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Format formats a time as date(1) does: conversions may have a flag ("-", "_",
// "0", "^", "#") and a width.
func Format(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 >= len(format) {
			b.WriteByte(format[i])
			continue
		}
		start := i
		i++
		flag, width, colons := byte(0), 0, 0
		for i < len(format) && strings.IndexByte("-_0^#", format[i]) >= 0 {
			flag = format[i]
			i++
		}
		for i < len(format) && format[i] >= '0' && format[i] <= '9' {
			width = min(width*10+int(format[i]-'0'), 1024)
			i++
		}
		for i < len(format) && format[i] == ':' {
			colons++
			i++
		}
		if i < len(format) && (format[i] == 'E' || format[i] == 'O') {
			i++
		}
		if i >= len(format) {
			b.WriteString(format[start:])
			break
		}
		text, pad, least, ok := conversion(format[i], colons, width, t)
		if !ok {
			b.WriteString(format[start : i+1])
			continue
		}
		switch flag {
		case '^':
			text = strings.ToUpper(text)
		case '#':
			if text = strings.ToUpper(text); format[i] == 'Z' || format[i] == 'p' {
				text = strings.ToLower(text)
			}
		case '-':
			least = 0
		case '_':
			pad = ' '
		case '0':
			pad = '0'
		}
		if width > 0 {
			least = width
		}
		b.WriteString(padded(text, pad, least))
	}
	return b.String()
}

func padded(s string, pad byte, width int) string {
	if len(s) >= width {
		return s
	}
	fill := strings.Repeat(string(rune(pad)), width-len(s))
	if pad == '0' && (strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+")) {
		return s[:1] + fill + s[1:]
	}
	return fill + s
}

// conversion returns the text of one conversion, and how it is padded.
func conversion(verb byte, colons, width int, t time.Time) (text string, pad byte, least int, ok bool) {
	number := func(n, digits int) (string, byte, int, bool) { return strconv.Itoa(n), '0', digits, true }
	spaced := func(n int) (string, byte, int, bool) { return strconv.Itoa(n), ' ', 2, true }
	plain := func(s string) (string, byte, int, bool) { return s, ' ', 0, true }
	layouts := map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'c': "Mon Jan _2 15:04:05 2006",
		'D': "01/02/06", 'x': "01/02/06", 'F': "2006-01-02", 'r': "03:04:05 PM", 'R': "15:04", 'T': "15:04:05", 'X': "15:04:05",
		'p': "PM", 'P': "pm", 'Z': "MST",
	}
	if layout := layouts[verb]; layout != "" {
		return plain(t.Format(layout))
	}
	hour12 := (t.Hour()+11)%12 + 1
	year, week := t.ISOWeek()
	switch verb {
	case '%':
		return plain("%")
	case 'n':
		return plain("\n")
	case 't':
		return plain("\t")
	case 'C':
		return number(t.Year()/100, 2)
	case 'd':
		return number(t.Day(), 2)
	case 'e':
		return spaced(t.Day())
	case 'g':
		return number(year%100, 2)
	case 'G':
		return number(year, 4)
	case 'H':
		return number(t.Hour(), 2)
	case 'I':
		return number(hour12, 2)
	case 'j':
		return number(t.YearDay(), 3)
	case 'k':
		return spaced(t.Hour())
	case 'l':
		return spaced(hour12)
	case 'm':
		return number(int(t.Month()), 2)
	case 'M':
		return number(t.Minute(), 2)
	case 'N':
		s := fmt.Sprintf("%09d", t.Nanosecond())
		if width > 0 && width < 9 {
			s = s[:width]
		}
		return plain(s)
	case 'q':
		return number((int(t.Month())+2)/3, 1)
	case 's':
		return plain(strconv.FormatInt(t.Unix(), 10))
	case 'S':
		return number(t.Second(), 2)
	case 'u':
		return number((int(t.Weekday())+6)%7+1, 1)
	case 'U':
		return number((t.YearDay()+6-int(t.Weekday()))/7, 2)
	case 'V':
		return number(week, 2)
	case 'w':
		return number(int(t.Weekday()), 1)
	case 'W':
		return number((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2)
	case 'y':
		return number(t.Year()%100, 2)
	case 'Y':
		return number(t.Year(), 4)
	case 'z':
		return plain(t.Format([]string{"-0700", "-07:00", "-07:00:00"}[min(colons, 2)]))
	}
	return "", 0, 0, false
}
