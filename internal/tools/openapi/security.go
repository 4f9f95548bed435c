package openapi

import (
	"net/http"
	"net/url"
	"strings"
)

// scheme is a way to send a credential, of components/securitySchemes.
type scheme struct{ Type, Scheme, Name, In string }

// authorize adds credentials, which are by the names of the schemes: what the first of the ways
// that the operation takes needs, if all of that is there.
func (o *Operation) authorize(r *http.Request, credentials map[string]string) {
	for _, way := range o.ways {
		all := len(way) > 0
		for name := range way {
			_, known := credentials[name]
			all = all && known
		}
		if all {
			for name, s := range way {
				s.add(r, credentials[name])
			}
			return
		}
	}
}

func (s scheme) add(r *http.Request, credential string) {
	user, password, _ := strings.Cut(credential, ":")
	switch {
	case s.Type == "apiKey" && s.In == "header":
		r.Header.Set(s.Name, credential)
	case s.Type == "apiKey" && s.In == "query":
		query := r.URL.Query()
		query.Set(s.Name, credential)
		r.URL.RawQuery = query.Encode()
	case s.Type == "apiKey":
		r.AddCookie(&http.Cookie{Name: s.Name, Value: url.QueryEscape(credential)})
	case strings.EqualFold(s.Scheme, "basic"):
		r.SetBasicAuth(user, password)
	default: // bearer, and tokens of OAuth 2 and OpenID Connect
		r.Header.Set("Authorization", "Bearer "+credential)
	}
}
