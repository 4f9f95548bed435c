package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/testcache"
)

// TestDeploy builds the manifests with kustomize and decodes them into Kubernetes's types.
func TestDeploy(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: builds kustomize")
	}
	bin := filepath.Join(testcache.Dir(), "kubernetes")
	run := func(dir string, stdin []byte, command string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), command, args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GOBIN="+bin)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s%s", command, args, err, out, &errs)
		}
		return out
	}
	if !exists(filepath.Join(bin, "kustomize")) {
		run("", nil, "go", "install", "sigs.k8s.io/kustomize/kustomize/v5@v5.6.0")
	}
	if !exists(filepath.Join(bin, "check")) {
		module := t.TempDir()
		source, err := os.ReadFile("testdata/deploy/check.txt")
		if err == nil {
			err = os.WriteFile(filepath.Join(module, "main.go"), source, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		run(module, nil, "go", "mod", "init", "check")
		run(module, nil, "go", "mod", "edit", "-require=k8s.io/api@v0.33.4", "-require=sigs.k8s.io/yaml@v1.6.0")
		run(module, nil, "go", "mod", "tidy")
		run(module, nil, "go", "install", ".")
	}
	manifests := run("", nil, filepath.Join(bin, "kustomize"), "build", "deploy")
	checked := run("", manifests, filepath.Join(bin, "check"))
	for _, kind := range []string{"ConfigMap", "ServiceAccount", "Deployment", "Service", "Ingress", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy"} {
		if !bytes.Contains(checked, []byte("ok "+kind+" coderunner\n")) {
			t.Errorf("no %s in\n%s", kind, checked)
		}
	}
	secret, err := os.ReadFile("deploy/secret.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run("", secret, filepath.Join(bin, "check"))
}

// TestDeployNames compares what the manifests and the image say with what there is: each
// variable is a setting, the metrics exist, and the commands are taken.
func TestDeployNames(t *testing.T) {
	files, err := filepath.Glob("deploy/*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%v, %v", files, err)
	}
	known := []string{"CODE_RUNNER_HTTP_TOKEN"}
	for _, s := range slices.Concat(settings, httpSettings) {
		known = append(known, s.env)
	}
	source, err := os.ReadFile("../../internal/httpserve/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\bCODE_RUNNER_[A-Z_]+\b`).FindAllString(string(text), -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s is no setting", file, name)
			}
		}
		for _, name := range regexp.MustCompile(`\bcoderunner_[a-z_]+\b`).FindAllString(string(text), -1) {
			if !strings.Contains(string(source), `"`+name+`"`) {
				t.Errorf("%s: %s is no metric", file, name)
			}
		}
		for _, flag := range regexp.MustCompile(`"--([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			if !slices.ContainsFunc(httpSettings, func(s setting) bool { return s.flag == flag[1] }) {
				t.Errorf("%s: --%s is no flag", file, flag[1])
			}
		}
	}
}
