package deno

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// The hostile stand-in for Deno is told by these where to look.
const (
	secretVariable = "CODERUNNER_DENO_TEST_SECRET"
	dialVariable   = "CODERUNNER_DENO_TEST_DIAL"
)

// standIn answers as far as a Runner asks, and tries what a package could that
// has taken over the trusted phase. It leaves its answers in Deno's cache.
func standIn() {
	if os.Args[1] == "--version" {
		fmt.Println("deno 99.0.0")
		os.Exit(0)
	}
	denoDir, secret := os.Getenv("DENO_DIR"), os.Getenv(secretVariable)
	root := filepath.Dir(denoDir)
	write := func(name string) error { return os.WriteFile(name, []byte("x"), 0o600) }
	read := func(name string) error {
		_, err := os.ReadFile(name)
		return err
	}
	answers := map[string]string{}
	for name, err := range map[string]error{
		"yes: write into Deno's cache":    write(filepath.Join(denoDir, "x")),
		"yes: write the lock file":        write("deno.lock"),
		"yes: read the modules":           read(process.ModuleName),
		"no: read a file":                 read(secret),
		"no: write a file":                write(secret),
		"no: write beside it":             write(secret + ".new"),
		"no: write into our cache":        write(filepath.Join(root, "x")),
		"no: poison a package":            write(filepath.Join(root, "trees", "x")),
		"no: write the program to be":     write(os.Args[0]),
		"no: read users":                  read("/etc/passwd"),
		"no: read our environment":        read(fmt.Sprintf("/proc/%d/environ", os.Getppid())),
		"no: start a program":             exec.Command("/bin/true").Run(),
		"no: start itself":                exec.Command(os.Args[0], "--version").Run(),
		"yes: connect":                    dial(os.Getenv(dialVariable)),
		"yes: find names and authorities": read("/etc/hosts"),
	} {
		answers[name] = fmt.Sprint(err)
	}
	b, err := json.Marshal(answers)
	if err == nil {
		err = os.WriteFile(filepath.Join(denoDir, "answers"), b, 0o600)
	}
	fmt.Fprintln(os.Stderr, "error: no more", err)
	os.Exit(1)
}

// authority makes an authority, as a file has it, and a certificate of it for
// this machine.
func authority(t *testing.T) (file []byte, certificate tls.Certificate) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, signer crypto.Signer) ([]byte, crypto.Signer) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = key
		}
		template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	ca := &x509.Certificate{Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, caKey := sign(ca, ca, nil)
	leaf, leafKey := sign(&x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, ca, caKey)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: leafKey}
}

func dial(address string) error {
	c, err := net.Dial("tcp", address)
	if err == nil {
		c.Close()
	}
	return err
}

// TestPreparationConfined has a stranger in Deno's place.
func TestPreparationConfined(t *testing.T) {
	if l := sandbox.Probe(); l.Name != sandbox.Full {
		t.Skipf("this kernel cannot do all of it: %s", l)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cr3t"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := New(process.Config{Cache: c, Binary: self, Env: map[string]string{secretVariable: secret, dialVariable: listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o, err := r.Run(context.Background(), runners.Request{Language: runners.TypeScript, Code: "import 'zod'"})
	if err != nil || o.Status != runners.NotInstalled {
		t.Fatalf("%+v, %v", o, err)
	}
	b, err := os.ReadFile(filepath.Join(r.DenoDir, "answers"))
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]string
	if err := json.Unmarshal(b, &answers); err != nil || len(answers) == 0 {
		t.Fatal(err)
	}
	for name, got := range answers {
		if may := strings.HasPrefix(name, "yes"); may != (got == "<nil>") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "s3cr3t" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

// TestPreparationNetwork fetches a package over TLS with an authority that only
// SSL_CERT_FILE names, and through a proxy.
func TestPreparationNetwork(t *testing.T) {
	manifest := `{"scope":"coderunner","name":"test","latest":"1.0.0","versions":{"1.0.0":{}}}`
	module := "export const six = 6;"
	files := map[string]string{
		"/@coderunner/test/meta.json":       manifest,
		"/@coderunner/test/1.0.0_meta.json": fmt.Sprintf(`{"manifest":{"/mod.ts":{"size":%d,"checksum":"sha256-%s"}},"exports":{".":"./mod.ts"}}`, len(module), hexSHA256(module)),
		"/@coderunner/test/1.0.0/mod.ts":    module,
	}
	registry := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if text, ok := files[req.URL.Path]; ok {
			fmt.Fprint(w, text)
			return
		}
		http.NotFound(w, req)
	})
	fetch := func(t *testing.T, jsr string, env map[string]string) {
		t.Helper()
		r := open(t, "--allow-import="+process.HostPort(jsr), func(c *process.Config) {
			c.JSRURL, c.Env = jsr, env
			var err error
			if c.Cache, err = cache.Open(t.TempDir()); err != nil {
				t.Fatal(err)
			}
		})
		o := run(t, r, runners.Request{Code: `import { six } from "jsr:@coderunner/test@1"; six`})
		if o.Result == nil || o.Result.Text != "6" {
			t.Errorf("%s %+v", o.Status, o.Error)
		}
	}
	t.Run("authority", func(t *testing.T) {
		file, certificate := authority(t)
		server := httptest.NewUnstartedServer(registry)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		server.StartTLS()
		defer server.Close()
		name := filepath.Join(t.TempDir(), "authority.pem")
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		fetch(t, server.URL+"/", map[string]string{"SSL_CERT_FILE": name})
	})
	t.Run("proxy", func(t *testing.T) {
		server := httptest.NewServer(registry)
		defer server.Close()
		target, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		var seen atomic.Int32
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			seen.Add(1)
			httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, req)
		}))
		defer proxy.Close()
		fetch(t, "http://registry.invalid/", map[string]string{"HTTP_PROXY": proxy.URL})
		if seen.Load() == 0 {
			t.Error("nobody asked the proxy")
		}
	})
}
