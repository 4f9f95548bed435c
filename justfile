# The contributor guide: `just` lists what there is to do.

_default:
    @just --list --unsorted

# Build the binary into the current directory: without C, so that it starts on any Linux.
build:
    CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o coderunner ./cmd/coderunner

# Everything that a version is published as, into dist: just release 1.2.3
release VERSION *ARGS:
    go run ./cmd/release {{ARGS}} {{VERSION}}

# The release of all platforms, its packages by the real npm, pip and uv, and two builds with one digest.
release-test *ARGS:
    CODERUNNER_LONG=1 go test -count=1 -v -timeout 60m {{ARGS}} ./cmd/release

# Run one program: just run examples/hello.py
run *ARGS:
    go run ./cmd/coderunner run {{ARGS}}

# Everything that needs neither network nor runtimes; seconds.
short:
    go test -short ./...

# All tests, of the long ones a sample; the first time it fetches Deno and Pyodide.
test:
    go test -timeout 25m ./...

# All of the long ones, too: each damage, each export, each hostile registry, 200 kills, and ten minutes of each command of the shell; most of a day. just long ./cmd/coderunner
long PACKAGES='./...':
    CODERUNNER_LONG=1 go test -count=1 -timeout 4h -p 1 {{PACKAGES}}
    {{ if PACKAGES == './...' { 'just fuzz-commands' } else { '' } }}

# Which packages of a list (one name a line) import, have a snapshot after it, and what a call costs; the 300 most used ones take half an hour: just packages LIST
packages LIST='runners/python/testdata/popular.txt':
    CODERUNNER_PACKAGES={{absolute_path(LIST)}} go test -count=1 -timeout 4h -v -run 'TestPopular' ./runners/python | grep ' | '

# The short and the middle ones under the race detector.
race:
    go test -race -timeout 40m ./...

# Formatting, vet and staticcheck.
vet:
    test -z "$(gofmt -l .)" || { gofmt -l .; exit 1; }
    go vet ./...
    go run honnef.co/go/tools/cmd/staticcheck@latest ./...

# Which package may import what.
deps:
    go test -run 'TestImports|TestCapabilities' .

# The runner contract against one runner: just contract python
contract RUNNER CASE='':
    go test -timeout 25m -run 'TestContract/{{CASE}}' ./runners/{{RUNNER}}

# Scripts through the real binary: just scripts run/hello
scripts NAME='':
    go test -timeout 25m -run '(TestProtocol|TestRun)/{{NAME}}' ./cmd/coderunner

# The protocol's own suite, two versions of it, against our transport and against coderunner serve --http; what is expected to fail is in testdata/conformance beside the tests.
conformance:
    CODERUNNER_LONG=1 go test -count=1 -v -run TestConformance ./internal/server ./cmd/coderunner

# The tests of one package as a stranger has them: another user than root, nohup, LANG=C, another time zone, umask 077, an empty home directory. It needs root: just stranger runners/deno
stranger PACKAGE *ARGS:
    #!/usr/bin/env bash
    set -euo pipefail
    export CODERUNNER_TEST_CACHE=${CODERUNNER_TEST_CACHE:-/var/tmp/coderunner-stranger}
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' EXIT
    go test -c -o "$dir/tests" ./{{PACKAGE}}
    mkdir -p "$dir/home" "$dir/tmp" "$dir/go" "$CODERUNNER_TEST_CACHE"
    chmod 755 "$dir" "$dir/tests"
    chown -R nobody "$dir/home" "$dir/tmp" "$dir/go" "$CODERUNNER_TEST_CACHE"
    cd {{PACKAGE}}
    umask 077
    env --ignore-signal=HUP,INT,QUIT HOME="$dir/home" TMPDIR="$dir/tmp" GOCACHE="$dir/go/build" GOPATH="$dir/go" \
        GOFLAGS=-modcacherw LANG=C LC_ALL=C TZ=Asia/Kolkata setpriv --reuid=nobody --clear-groups "$dir/tests" -test.timeout 25m {{ARGS}}

# The parts of docs that are made of the commands, the settings and the packages' comments.
docs:
    go test ./cmd/coderunner -run TestGeneratedPages -update
    go test . -run TestPackageTable -update
    git diff --stat docs

# Take over a changed tool schema; look at the diff before you commit it.
golden:
    go test ./internal/server -run TestGoldenTool -update
    git diff --stat internal/server/testdata

# Hostile programs, packages, registries and ends: just hostile TestWheels
hostile TEST='' *ARGS:
    go test -count=1 -timeout 30m -run '{{TEST}}' {{ARGS}} ./internal/hostile

# The table of kinds of attack and their cases, after a change of either.
rows:
    go test ./internal/hostile -short -run TestRows -update

# Every fuzz test for a while: just fuzz 1m. Each input that reaches new code is made
# smaller by 100 runs at most, since a minute of that, the default, may be all the time.
fuzz TIME='30s':
    #!/usr/bin/env bash
    set -euo pipefail
    grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do
        for f in $(grep -rho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -d' ' -f2); do
            go test -run '^$' -fuzz "^$f\$" -fuzztime {{TIME}} -fuzzminimizetime 100x "$dir"
        done
    done

# Commands of the shell with their options and input together, each for a while, and how much of each package the inputs that were found reach: just fuzz-commands 10m awk sed
fuzz-commands TIME='10m' *COMMANDS:
    #!/usr/bin/env bash
    set -uo pipefail
    shopt -s nullglob
    package=./internal/userland/commands seeds=./internal/userland/commands/testdata/fuzz/FuzzCommands
    names='{{COMMANDS}}' failed=
    trap 'rm -f $seeds/found-* fuzz.cover' EXIT
    for name in ${names:-$(sed -n '/^var commandLines/,/^}/p' $package/fuzz_test.go | grep -o '"[a-z0-9]* ' | tr -d '" ' | sort -u)}; do
        CODERUNNER_FUZZ=$name go test -run '^$' -fuzz '^FuzzCommands$' -fuzztime {{TIME}} -fuzzminimizetime 100x $package # an input that fails is a seed below; its own end may be a deadline (go.dev/issue/75804)
        mkdir -p $seeds
        for input in "$(go env GOCACHE)"/fuzz/coderunner/internal/userland/commands/FuzzCommands/*; do cp "$input" $seeds/found-${input##*/}; done
        CODERUNNER_FUZZ=$name go test -run '^FuzzCommands$' -coverpkg="$package/..." -coverprofile=fuzz.cover $package > /dev/null || failed+=" $name"
        rm -f $seeds/found-*
        awk -F'[: ]' -v name="$name" 'NR > 1 { n = $1; sub("/[^/]*$", "", n); sub(".*/", "", n); all[n] += $(NF-1); hit[n] += $(NF-1) * ($NF > 0) }
            END { for (n in all) if (hit[n]) printf "%s: %s %.0f %%\n", name, n, 100 * hit[n] / all[n] }' fuzz.cover
    done
    [ -z "$failed" ] || { echo "failed:$failed"; exit 1; }

# Our speed beside others' or another build's, in one run: just bench -only stdio -against OLD
bench *ARGS:
    go run ./internal/bench {{ARGS}}

# What CI does, on a machine that has only Go.
ci:
    .ci/run
