package openapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Request returns the request of a call below base, with what it needs of the credentials, which
// are by the names of the document's security schemes. The arguments are an object.
func (o *Operation) Request(ctx context.Context, base *url.URL, arguments json.RawMessage, credentials map[string]string) (*http.Request, error) {
	args := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return nil, fmt.Errorf("the arguments are not an object: %w", err)
	}
	r := (&http.Request{Method: o.method, Header: http.Header{}}).WithContext(ctx)
	path, query := o.path, base.Query()
	for name, p := range o.parameters {
		value, given := args[name]
		delete(args, name)
		if !given || value == nil {
			continue
		}
		switch p.In {
		case "path":
			text := strings.Join(texts(value), ",")
			if text == "" || text == "." || text == ".." {
				return nil, fmt.Errorf("%s is %q, which is no part of a path", name, text)
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(text))
		case "query":
			p.query(query, value)
		case "header":
			r.Header.Set(p.Name, strings.Join(texts(value), ","))
		case "cookie":
			r.AddCookie(&http.Cookie{Name: p.Name, Value: strings.Join(texts(value), ",")})
		}
	}
	if strings.Contains(path, "{") {
		return nil, fmt.Errorf("a part of the path is missing: %s", path)
	}
	escaped := strings.TrimSuffix(base.EscapedPath(), "/") + path
	unescaped, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	r.URL = &url.URL{Scheme: base.Scheme, User: base.User, Host: base.Host, Path: unescaped, RawPath: escaped, RawQuery: query.Encode()}
	r.Header.Set("Accept", "application/json, */*;q=0.5")
	o.authorize(r, credentials)
	return r, o.setBody(r, args)
}

// setBody makes a body of the arguments that are left.
func (o *Operation) setBody(r *http.Request, args map[string]any) (err error) {
	var value any = args
	given := len(args) > 0
	if o.body.argument != "" {
		value, given = args[o.body.argument]
	}
	if o.body.mime == "" || !given {
		return nil
	}
	var text []byte
	mime := o.body.mime
	switch fields, ok := value.(map[string]any); {
	case ok && mime == formType:
		form := url.Values{}
		for name, each := range fields {
			form[name] = texts(each)
		}
		text = []byte(form.Encode())
	case ok && mime == multipartType:
		text, mime, err = o.body.multipart(fields)
	default:
		text, err = json.Marshal(value)
	}
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", mime)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// multipart returns a form with files, and its media type.
func (b *body) multipart(fields map[string]any) (text []byte, mime string, err error) {
	var buffer bytes.Buffer
	w := multipart.NewWriter(&buffer)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range texts(fields[name]) {
			if !b.files[name] {
				_ = w.WriteField(name, value) // the buffer takes all
				continue
			}
			data, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, "", fmt.Errorf("%s is a file, and not in base64: %w", name, err)
			}
			part, _ := w.CreateFormFile(name, name)
			_, _ = part.Write(data)
		}
	}
	_ = w.Close()
	return buffer.Bytes(), w.FormDataContentType(), nil
}

// query adds a parameter to a query, in the styles form and deepObject.
func (p *parameter) query(q url.Values, value any) {
	if object, ok := value.(map[string]any); ok {
		for name, each := range object {
			if p.Style == "deepObject" {
				name = p.Name + "[" + name + "]"
			}
			q[name] = append(q[name], texts(each)...)
		}
		return
	}
	list := texts(value)
	if p.Explode != nil && !*p.Explode {
		list = []string{strings.Join(list, ",")}
	}
	q[p.Name] = append(q[p.Name], list...)
}

// texts returns a value as texts: one for each of a list.
func texts(value any) (list []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, each := range v {
			list = append(list, strings.Join(texts(each), ","))
		}
		return list
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list = append(list, name, strings.Join(texts(v[name]), ","))
		}
		return []string{strings.Join(list, ",")}
	}
	text, _ := json.Marshal(value) // a number, a boolean or null
	return []string{string(text)}
}
