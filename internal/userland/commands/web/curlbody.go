package web

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// data builds the body from -d, -F and the like.
func (r *curlRun) data() {
	var form *multipart.Writer
	var buf bytes.Buffer
	for _, s := range r.o.Set {
		value := []byte(s.Value)
		if strings.HasPrefix(s.Name, "d") && strings.HasPrefix(s.Name, "data") || s.Name == "d" || s.Name == "json" {
			if s.Name != "data-raw" && s.Name != "data-urlencode" && strings.HasPrefix(s.Value, "@") {
				if value = r.file(s.Value[1:]); s.Name == "d" || s.Name == "data-ascii" {
					value = bytes.ReplaceAll(bytes.ReplaceAll(value, []byte("\r"), nil), []byte("\n"), nil)
				}
			}
			if s.Name == "data-urlencode" {
				name, v, ok := strings.Cut(s.Value, "=")
				if file, path, is := strings.Cut(s.Value, "@"); is && !strings.Contains(file, "=") { // name@file
					name, v = file, string(r.file(path))
				} else if !ok {
					name, v = "", s.Value
				}
				value = []byte(url.QueryEscape(v))
				if name != "" {
					value = append([]byte(name+"="), value...)
				}
			}
			if r.hasBody && s.Name != "json" {
				r.body = append(r.body, '&')
			}
			r.body, r.hasBody = append(r.body, value...), true
			if r.kind = "application/x-www-form-urlencoded"; s.Name == "json" {
				r.kind = "application/json"
			}
		}
		if s.Name == "F" {
			if form == nil {
				form = multipart.NewWriter(&buf)
			}
			r.c.Check(r.part(form, s.Value))
		}
	}
	if form != nil {
		form.Close()
		r.body, r.hasBody, r.kind = buf.Bytes(), true, form.FormDataContentType()
	}
}

// file reads a file that the body is made of.
func (r *curlRun) file(name string) []byte {
	data, err := r.c.ReadFile(name)
	if err != nil {
		r.c.Throw("Failed to open %s", name)
	}
	return data
}

// part adds a field of -F: name=value, name=@file or name=<file.
func (r *curlRun) part(form *multipart.Writer, s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("Illegally formatted input field: %s", s)
	}
	if value == "" || value[0] != '@' && value[0] != '<' {
		return form.WriteField(name, value)
	}
	file, params, _ := strings.Cut(value[1:], ";")
	data, err := r.c.ReadFile(file)
	if err != nil {
		return fmt.Errorf("Failed to open/read local data from file/application")
	}
	if value[0] == '<' {
		return form.WriteField(name, string(data))
	}
	h := textproto.MIMEHeader{}
	kind, filename := "application/octet-stream", command.Base(file)
	for p := range strings.SplitSeq(params, ";") {
		if k, v, ok := strings.Cut(p, "="); ok && k == "type" {
			kind = v
		} else if ok && k == "filename" {
			filename = v
		}
	}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=%q`, name, filename))
	h.Set("Content-Type", kind)
	w, err := form.CreatePart(h)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}
