package text

import (
	"cmp"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	textunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/unicode/norm"

	"coderunner/internal/userland/commands/command"
)

// charsets are the encodings with names that charmap has not.
var charsets = map[string]encoding.Encoding{
	"": encoding.Nop, "UTF8": encoding.Nop, "ASCII": encoding.Nop, "USASCII": encoding.Nop, "ANSIX3.41968": encoding.Nop, "646": encoding.Nop,
	"UTF16": textunicode.UTF16(textunicode.LittleEndian, textunicode.UseBOM), "UCS2": textunicode.UTF16(textunicode.LittleEndian, textunicode.UseBOM),
	"UTF16LE": textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM), "UCS2LE": textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM),
	"UTF16BE": textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM), "UCS2BE": textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM),
	"UTF32": utf32.UTF32(utf32.LittleEndian, utf32.UseBOM), "UCS4": utf32.UTF32(utf32.LittleEndian, utf32.UseBOM),
	"UTF32LE": utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "UCS4LE": utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
	"UTF32BE": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "UCS4BE": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
	"LATIN1": charmap.ISO8859_1, "L1": charmap.ISO8859_1, "ISO88591": charmap.ISO8859_1, "MACINTOSH": charmap.Macintosh, "MAC": charmap.Macintosh,
}

// charset returns an encoding by its name; ascii is one that has no other characters.
func charset(name string) (e encoding.Encoding, ascii, ok bool) {
	plain := strings.NewReplacer("-", "", "_", "", ":", "").Replace(strings.ToUpper(name))
	if e, ok = charsets[plain]; ok {
		return e, e == encoding.Nop && plain != "" && plain != "UTF8", true
	}
	for _, e := range charmap.All {
		m, is := e.(*charmap.Charmap)
		if !is {
			continue
		}
		known := strings.NewReplacer(" ", "", "-", "", "CODEPAGE", "IBM", "WINDOWS", "CP").Replace(strings.ToUpper(m.String()))
		asked := strings.Replace(plain, "WINDOWS", "CP", 1)
		if asked == known || asked == strings.Replace(known, "IBM", "CP", 1) {
			return m, false, true
		}
	}
	return nil, false, false
}

// recoder is a running iconv.
type recoder struct {
	c                  *command.Call
	from, to           encoding.Encoding
	wasASCII, ascii    bool
	translit, leaveOut bool
	encode             *encoding.Encoder
	bad                bool
}

// Iconv converts text from one encoding to another.
func Iconv(c *command.Call) int {
	o := c.Parse("f,from-code= t,to-code= o,output= c s,silent l,list verbose")
	if o.On("l") {
		c.Print("ASCII\nUTF-8\nUTF-16\nUTF-16BE\nUTF-16LE\nUTF-32\nUTF-32BE\nUTF-32LE\n")
		for _, e := range charmap.All {
			if m, ok := e.(*charmap.Charmap); ok {
				c.Print(strings.ReplaceAll(strings.ToUpper(m.String()), " ", "-") + "\n")
			}
		}
		return 0
	}
	to, suffixes, _ := strings.Cut(o.Value("t", "UTF-8"), "//")
	from, _, _ := strings.Cut(o.Value("f", "UTF-8"), "//")
	suffixes = strings.ToUpper(suffixes)
	r := &recoder{c: c, translit: strings.Contains(suffixes, "TRANSLIT"), leaveOut: o.On("c") || strings.Contains(suffixes, "IGNORE")}
	var known, ok bool
	r.from, r.wasASCII, known = charset(from)
	r.to, r.ascii, ok = charset(to)
	switch {
	case !known && !ok:
		return c.Usage(1, "conversions from %s and to %s are not supported", command.Quote(from), command.Quote(to))
	case !known:
		return c.Usage(1, "conversion from %s is not supported", command.Quote(from))
	case !ok:
		return c.Usage(1, "conversion to %s is not supported", command.Quote(to))
	}
	if name := o.Value("o", ""); name != "" {
		c.Out = c.Output(name, 1, "")
	}
	if mark, ok := map[string]string{"UTF16": "\xff\xfe", "UTF32": "\xff\xfe\x00\x00"}[strings.ReplaceAll(strings.ToUpper(to), "-", "")]; ok {
		c.Print(mark) // once, not before each character
		r.to, _, _ = charset(to + "LE")
	}
	r.encode = r.to.NewEncoder()
	c.Each(o.Args, func(_ string, in io.Reader) error {
		data, err := c.ReadAll(in)
		if err != nil {
			return err
		}
		if c.Reserve(int64(len(data))*4) != nil {
			return command.ErrMemory
		}
		return r.convert(data)
	})
	return max(c.Status, command.Btoi(r.bad))
}

// convert writes a text in the other encoding, up to what it does not have.
func (r *recoder) convert(data []byte) error {
	text := data
	if r.from != encoding.Nop {
		var err error
		if text, err = r.from.NewDecoder().Bytes(data); err != nil {
			return err
		}
	}
	for at := 0; at < len(text); {
		char, n := utf8.DecodeRune(text[at:])
		invalid := char == utf8.RuneError && n == 1 || r.wasASCII && char >= utf8.RuneSelf
		out, fits := r.encoded(char)
		switch {
		case !invalid && fits:
			r.c.Out.Write(out)
		case r.leaveOut:
			r.bad = r.bad || invalid
		case invalid || !r.translit:
			r.c.Exit(1, "illegal input sequence at position %d", at)
		default:
			r.c.Out.Write(r.like(char))
		}
		at += n
	}
	return nil
}

// encoded returns a character in the other encoding, if that has it.
func (r *recoder) encoded(char rune) ([]byte, bool) {
	if r.to == encoding.Nop {
		return utf8.AppendRune(nil, char), !r.ascii || char < utf8.RuneSelf
	}
	out, err := r.encode.Bytes([]byte(string(char)))
	return out, err == nil
}

// alike are characters that look like several or like another.
var alike = map[rune]string{
	'ß': "ss", 'æ': "ae", 'Æ': "AE", 'œ': "oe", 'Œ': "OE", 'ø': "o", 'Ø': "O", 'đ': "d", 'Đ': "D", 'ł': "l", 'Ł': "L",
	'‘': "'", '’': "'", '“': `"`, '”': `"`, '„': ",,", '«': "<<", '»': ">>", '–': "-", '—': "-", '…': "...", '€': "EUR", '©': "(C)", '®': "(R)", '™': "(TM)", '\u00a0': " ", '•': "o", '×': "x",
}

// like returns what //TRANSLIT writes for a character that the encoding lacks.
func (r *recoder) like(char rune) []byte {
	text := cmp.Or(alike[char], norm.NFKD.String(string(char)))
	var out []byte
	for _, part := range text {
		if unicode.Is(unicode.Mn, part) {
			continue
		}
		b, ok := r.encoded(part)
		if !ok {
			b, _ = r.encoded('?')
		}
		out = append(out, b...)
	}
	return out
}
