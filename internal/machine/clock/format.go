package clock

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

// layouts are the conversions that package time has.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'c': "Mon Jan _2 15:04:05 2006",
	'D': "01/02/06", 'x': "01/02/06", 'F': "2006-01-02", 'r': "03:04:05 PM", 'R': "15:04", 'T': "15:04:05", 'X': "15:04:05",
	'p': "PM", 'P': "pm", 'Z': "MST",
}

// numbers are the conversions to a number, with how many digits it has at least and
// what stands for those that are missing.
var numbers = map[byte]struct {
	digits int
	pad    byte
	of     func(time.Time) int
}{
	'C': {2, '0', func(t time.Time) int { return t.Year() / 100 }},
	'd': {2, '0', time.Time.Day},
	'e': {2, ' ', time.Time.Day},
	'g': {2, '0', func(t time.Time) int { year, _ := t.ISOWeek(); return year % 100 }},
	'G': {4, '0', func(t time.Time) int { year, _ := t.ISOWeek(); return year }},
	'H': {2, '0', time.Time.Hour},
	'I': {2, '0', hour12},
	'j': {3, '0', time.Time.YearDay},
	'k': {2, ' ', time.Time.Hour},
	'l': {2, ' ', hour12},
	'm': {2, '0', func(t time.Time) int { return int(t.Month()) }},
	'M': {2, '0', time.Time.Minute},
	'q': {1, '0', func(t time.Time) int { return (int(t.Month()) + 2) / 3 }},
	'S': {2, '0', time.Time.Second},
	'u': {1, '0', func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }},
	'U': {2, '0', func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }},
	'V': {2, '0', func(t time.Time) int { _, week := t.ISOWeek(); return week }},
	'w': {1, '0', func(t time.Time) int { return int(t.Weekday()) }},
	'W': {2, '0', func(t time.Time) int { return (t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7 }},
	'y': {2, '0', func(t time.Time) int { return t.Year() % 100 }},
	'Y': {4, '0', time.Time.Year},
}

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

// conversion returns the text of one conversion, and how it is padded.
func conversion(verb byte, colons, width int, t time.Time) (text string, pad byte, least int, ok bool) {
	if layout := layouts[verb]; layout != "" {
		return t.Format(layout), ' ', 0, true
	}
	if n := numbers[verb]; n.of != nil {
		return strconv.Itoa(n.of(t)), n.pad, n.digits, true
	}
	switch verb {
	case '%':
		text = "%"
	case 'n':
		text = "\n"
	case 't':
		text = "\t"
	case 'N':
		text = fmt.Sprintf("%09d", t.Nanosecond())
		if width > 0 && width < 9 {
			text = text[:width]
		}
	case 's':
		text = strconv.FormatInt(t.Unix(), 10)
	case 'z':
		text = t.Format([]string{"-0700", "-07:00", "-07:00:00"}[min(colons, 2)])
	default:
		return "", 0, 0, false
	}
	return text, ' ', 0, true
}
