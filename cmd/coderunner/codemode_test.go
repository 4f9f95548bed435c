package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/conformance"
	"coderunner/internal/testcache"
	"coderunner/internal/tools"
	toolsconfig "coderunner/internal/tools/config"
	"coderunner/runners"
)

// families are kinds of tasks, each of which is solved for five sizes, which are N in the
// programs: the tools that a model must know of, and the program that it writes.
var families = []struct{ name, tools, program string }{
	{"sum the orders of N customers", "shop.list_orders", `import tools
print(sum(o["total"] for c in range(N) for o in tools.shop.list_orders(customer=c)))`},
	{"the customer with the largest order of N", "shop.get_customer shop.list_orders", `from tools import shop
best = max((o for c in range(N) for o in shop.list_orders(customer=c)), key=lambda o: o["total"])
print(shop.get_customer(id=best["customer"])["name"], best["total"])`},
	{"count the lines of N files", "filesystem.list_directory filesystem.read_text_file", `from tools import filesystem as fs
names = [line.split()[1] for line in fs.list_directory(path=DIR)["content"].splitlines() if line.startswith("[FILE] in")]
print(sum(len(fs.read_text_file(path=f"{DIR}/{n}")["content"].splitlines()) for n in sorted(names)[:N]))`},
	{"write N files of customers", "shop.get_customer filesystem.write_file", `from tools import filesystem, shop
for i in range(N):
    c = shop.get_customer(id=i)
    filesystem.write_file(path=f"{DIR}/customer{i}.txt", content=f"{c['name']}\n{c['notes']}\n")
print("written")`},
	{"find an error in N logs", "filesystem.read_text_file", `from tools import filesystem as fs
for i in range(N):
    for line in fs.read_text_file(path=f"{DIR}/in{i}.log")["content"].splitlines():
        if "ERROR" in line: print(i, line)`},
	{"remember N customers", "shop.get_customer memory.create_entities", `from tools import memory, shop
found = [shop.get_customer(id=i) for i in range(N)]
memory.create_entities(entities=[{"name": c["name"], "entityType": "customer", "observations": [c["city"]]} for c in found])
print(len(found))`},
	{"relate N customers to their cities", "shop.get_customer memory.create_relations", `from tools import memory, shop
for i in range(N):
    c = shop.get_customer(id=i)
    memory.create_relations(relations=[{"from": c["name"], "to": c["city"], "relationType": "lives in"}])
print("related")`},
	{"add N numbers", "everything.get_sum", `import tools
total = 0
for i in range(1, N + 1):
    total = int(tools.everything.get_sum(a=total, b=i).split()[-1].rstrip("."))
print(total)`},
	{"think in N steps", "sequential_thinking.sequentialthinking", `from tools.sequential_thinking import sequentialthinking
for i in range(1, N + 1):
    sequentialthinking(thought=f"step {i}", thoughtNumber=i, totalThoughts=N, nextThoughtNeeded=i < N)
print("thought")`},
	{"report on N customers from three servers", "shop.get_customer shop.list_orders filesystem.write_file memory.search_nodes", `from tools import filesystem, memory, shop
rows = []
for i in range(N):
    c = shop.get_customer(id=i)
    known = memory.search_nodes(query=c["name"])["entities"]
    rows.append(f"{c['name']},{sum(o['total'] for o in shop.list_orders(customer=i))},{len(known)}")
filesystem.write_file(path=f"{DIR}/report.csv", content="\n".join(rows))
print(len(rows), "rows")`},
}

// shop is an API of some size, as such are.
func shop(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	n, _ := strconv.Atoi(r.URL.Query().Get("customer"))
	if id, ok := strings.CutPrefix(r.URL.Path, "/customers/"); ok {
		fmt.Fprintf(w, `{"id": %s, "name": "Customer %[1]s", "city": "City %[1]s", "notes": %q}`, id, strings.Repeat("met at a fair; ", 20))
	} else if r.URL.Path == "/orders" {
		var list []string
		for i := range 10 {
			list = append(list, fmt.Sprintf(`{"id": %d, "customer": %d, "total": %d, "state": "delivered", "items": ["screws", "nails"]}`, 10*n+i, n, (7*n+13*i)%101))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(list, ", "))
	} else {
		paths := map[string]any{}
		text := func(name string) map[string]any {
			return map[string]any{"name": name, "in": "query", "description": "Returns only what has this " + name + ".", "schema": map[string]any{"type": "string"}}
		}
		id := map[string]any{"name": "id", "in": "path", "required": true, "schema": map[string]any{"type": "integer"}}
		customer := map[string]any{"name": "customer", "in": "query", "schema": map[string]any{"type": "integer"}}
		for _, kind := range strings.Fields("customer order invoice payment shipment product supplier warehouse employee contract ticket discount return category review") {
			body := map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"type": "object", "properties": map[string]any{
				"name": map[string]any{"type": "string"}, "notes": map[string]any{"type": "string"}, "state": map[string]any{"enum": []string{"open", "closed"}}}}}}}
			operation := func(verb string, more map[string]any) map[string]any {
				more["operationId"], more["summary"] = verb+"_"+kind, strings.ToUpper(verb[:1])+verb[1:]+"s a "+kind+" of the shop."
				return more
			}
			list := operation("list", map[string]any{"parameters": []any{customer, text("state"), text("city")}})
			list["operationId"] = "list_" + kind + "s"
			paths["/"+kind+"s"] = map[string]any{"get": list, "post": operation("create", map[string]any{"requestBody": body})}
			paths["/"+kind+"s/{id}"] = map[string]any{"get": operation("get", map[string]any{"parameters": []any{id}}), "patch": operation("update", map[string]any{"parameters": []any{id}, "requestBody": body})}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"openapi": "3.1.0", "paths": paths})
	}
}

// counter counts tokens of texts, a list in JSON on standard input.
const counter = `import { Tiktoken } from "npm:js-tiktoken@1.0.21/lite";
import ranks from "npm:js-tiktoken@1.0.21/ranks/o200k_base";
const encoder = new Tiktoken(ranks);
const texts = JSON.parse(await new Response(Deno.stdin.readable).text());
console.log(JSON.stringify(texts.map((t) => encoder.encode(t, [], []).length)));
`

// TestCodeMode solves fifty tasks over five servers with about a hundred tools, and counts what
// passes through a model: by programs, and by the same calls without them, one in a turn. Both
// are measured on servers that run already, without the time of a model. It prints the table of
// docs/tools.md.
func TestCodeMode(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: fifty programs that start four servers each")
	}
	api := httptest.NewServer(http.HandlerFunc(shop))
	t.Cleanup(api.Close)
	dir := t.TempDir()
	for i := range 32 {
		line := "INFO all is well\n"
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in%d.log", i)), []byte(strings.Repeat(line, 20)+fmt.Sprintf("ERROR %d\n", i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	servers := conformance.Servers(t, dir, nil)
	servers["shop"] = map[string]any{"openapi": api.URL + "/openapi.json", "url": api.URL}
	work := t.TempDir()
	write := func(name string, content any) string {
		text, isText := content.(string)
		if !isText {
			encoded, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		file := filepath.Join(work, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config := write("servers.json", map[string]any{"mcpServers": servers, "coderunner": map[string]any{"allow": []string{"*"}}})
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command(selfAs(t, "coderunner"), args...)
		cmd.Args[0] = "coderunner"
		cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir())
		cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), t.Output()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	file, err := toolsconfig.Load(config, toolsconfig.Own{})
	if err != nil {
		t.Fatal(err)
	}
	set := tools.Open(file, tools.Options{Version: "test", Tokens: work, Log: zap.NewNop()})
	t.Cleanup(set.Close)
	plain := set.For(tools.Run{Client: "test"})
	const token = "code-mode-0123456789"
	c := &httpClient{url: startHTTP(t, []string{"CODE_RUNNER_HTTP_TOKEN=" + token}, "--tools", config).url, token: token}
	if err := c.hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	definitions := run("", "tools", "list", "--json", "--tools", config)
	var listed []struct {
		Server, Native, Description string
		Input                       json.RawMessage
	}
	if err := json.Unmarshal([]byte(definitions), &listed); err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, tool := range listed {
		text, _ := json.Marshal(map[string]any{"name": tool.Server + "_" + tool.Native, "description": tool.Description, "inputSchema": tool.Input})
		direct = append(direct, string(text))
	}
	own, err := os.ReadFile(filepath.Join("..", "..", "internal", "server", "testdata", "tool.json"))
	if err != nil {
		t.Fatal(err)
	}
	type task struct {
		family               int
		calls                []string // each with its result
		discovery, solution  string
		seconds, codeSeconds float64
	}
	var tasks []task
	for i, family := range families {
		described := ""
		for _, name := range strings.Fields(family.tools) {
			described += run("", "tools", "describe", name, "--tools", config)
		}
		ask := fmt.Sprintf("import tools\nfor name in %q.split(): print(tools.describe(name))", family.tools)
		for _, size := range []int{2, 4, 8, 16, 32} {
			program := strings.NewReplacer("DIR", strconv.Quote(dir), "N)", fmt.Sprint(size, ")"), "N +", fmt.Sprint(size, " +"), "N,", fmt.Sprint(size, ","), ":N]", fmt.Sprint(":", size, "]")).Replace(strings.ReplaceAll(family.program, "{DIR}", dir))
			recording := filepath.Join(work, "recording.har")
			printed := run("", "run", "--tools", config, "--record", recording, write("p.py", program))
			text, err := os.ReadFile(recording)
			if err != nil {
				t.Fatal(err)
			}
			var har struct {
				Log struct {
					Tools []struct {
						Query struct {
							Op, Name string
							Args     json.RawMessage
						}
						Value json.RawMessage
					} `json:"_tools"`
				}
			}
			if err := json.Unmarshal(text, &har); err != nil {
				t.Fatal(err)
			}
			var texts []string // a call and its result
			var seconds float64
			for _, e := range har.Log.Tools {
				if e.Query.Op != "call" {
					continue
				}
				var r runners.ToolResult
				if err := json.Unmarshal(e.Value, &r); err != nil {
					t.Fatal(err)
				}
				result := string(r.Structured)
				for _, c := range r.Content {
					if r.Structured == nil { // else it is the same once more
						result += c.Text
					}
				}
				texts = append(texts, e.Query.Name+string(e.Query.Args)+result)
				begun := time.Now()
				if _, err := plain.Call(t.Context(), runners.ToolCall{Tool: e.Query.Name, Arguments: e.Query.Args}); err != nil {
					t.Fatal(err)
				}
				seconds += time.Since(begun).Seconds()
			}
			begun := time.Now()
			for _, code := range []string{ask, program} {
				if text, err := c.call(t.Context(), "run_code", map[string]any{"language": "python", "code": code}); err != nil || strings.Contains(text, "Traceback") {
					t.Fatalf("%s: %v", text, err)
				}
			}
			codeSeconds := time.Since(begun).Seconds()
			if printed == "" || len(texts) < size && !strings.Contains(family.name, "remember") {
				t.Fatalf("%s of %d: %q, %d calls", family.name, size, printed, len(texts))
			}
			tasks = append(tasks, task{i, texts, ask + described, program + printed, seconds, codeSeconds})
		}
	}

	// All is counted at once.
	texts := []string{strings.Join(direct, "\n"), string(own)}
	for _, t := range tasks {
		texts = append(append(texts, t.discovery, t.solution), t.calls...)
	}
	list, _ := json.Marshal(texts) // it never fails
	var counts []int
	if err := json.Unmarshal([]byte(run(string(list), "run", write("count.ts", counter))), &counts); err != nil {
		t.Fatal(err)
	}
	next := func() (n int) {
		n, counts = counts[0], counts[1:]
		return n
	}
	directTools, ownTools := next(), next()
	t.Logf("%d tools of %d servers: %d tokens; run_code: %d", len(listed), len(servers), directTools, ownTools)
	type row struct {
		tasks, calls, once, all, codeOnce, codeAll int
		seconds, codeSeconds                       float64
	}
	rows := make([]row, len(families))
	for _, t := range tasks {
		r := &rows[t.family]
		discovery, solution := next(), next()
		r.tasks, r.calls = r.tasks+1, r.calls+len(t.calls)
		r.seconds, r.codeSeconds = r.seconds+t.seconds, r.codeSeconds+t.codeSeconds
		r.codeOnce += discovery + solution
		r.codeAll += 3*ownTools + 2*discovery + solution // two calls, and the turn of the answer
		context := directTools
		r.all += context
		for range t.calls {
			n := next()
			r.once += n
			context += n
			r.all += context // the next turn reads all of it
		}
	}
	var table strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&table, "| %s | %.0f | %d | %d | %.2f | 3 | %d | %d | %.2f |\n", families[i].name, float64(r.calls)/float64(r.tasks)+1, r.once/r.tasks, r.all/r.tasks, r.seconds/float64(r.tasks),
			r.codeOnce/r.tasks, r.codeAll/r.tasks, r.codeSeconds/float64(r.tasks))
		if r.codeAll >= r.all {
			t.Errorf("%s: programs cost a model more than calls", families[i].name)
		}
	}
	t.Logf("\n%s", &table)
}
