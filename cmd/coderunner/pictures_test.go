package main

import (
	"encoding/json"
	picture "image"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readmeRequests are what README.md asks a model to do, each with a program as a model
// writes it, and the picture of its answer.
var readmeRequests = []struct {
	text, picture string
	program       appProgram
}{
	{"Plot the first hundred primes", "primes", appProgram{"python", `import plotly.graph_objects as go

primes = [n for n in range(2, 542) if all(n % d for d in range(2, int(n**0.5) + 1))]
print(len(primes), "primes, the largest is", primes[-1])
figure = go.Figure(go.Scatter(x=list(range(1, 101)), y=primes, mode="markers"))
figure.update_layout(title="The first hundred primes", xaxis_title="n", yaxis_title="prime")
figure`}},
	{"Check by running it whether this zod schema takes an empty string", "zod", appProgram{"typescript", `import { z } from "npm:zod@4";

const schema = z.object({ name: z.string().min(1), nick: z.string().optional() });
for (const input of [{ name: "Ada", nick: "" }, { name: "" }]) {
  const { success, error } = schema.safeParse(input);
  console.log(JSON.stringify(input), success ? "is taken" : error.issues[0].message);
}`}},
	{"Write a bash script that counts the words of these files", "words", appProgram{"bash", `printf 'the cat sat\non the mat\n' > a.txt
printf 'the dog did not\n' > b.txt
wc -w a.txt b.txt
cat a.txt b.txt | tr ' ' '\n' | sort | uniq -c | sort -rn | head -3 | awk '{print $2 "," $1}' | (echo word,count; cat) > top.csv`}},
}

// TestPictures runs the programs and compares the answers' page with what README.md shows:
// -update takes the pictures anew, by a real browser.
func TestPictures(t *testing.T) {
	readme := readDocument(t, "README.md")
	for _, r := range readmeRequests {
		name := "docs/pictures/" + r.picture + ".png"
		if !strings.Contains(readme, r.text) || !strings.Contains(readme, name) {
			t.Errorf("README.md lacks %q or %s", r.text, name)
		}
		f, err := os.Open("../../" + name)
		if err != nil && *update {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if c, err := png.DecodeConfig(f); err != nil || c.Width < 500 || c.Height < 80 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	browser, err := exec.LookPath("chromium")
	if err != nil || os.Getenv("CODERUNNER_LONG") == "" && !*update {
		t.Skip("the pages are long to make, and need Chromium")
	}
	for _, r := range readmeRequests {
		t.Run(r.picture, func(t *testing.T) {
			page := hostPage(t, "light", "", []appProgram{r.program})
			whole := filepath.Join(t.TempDir(), "whole.png")
			browse(t, browser, page, "--screenshot="+whole)
			var seen struct{ Reports []appReport }
			report := browse(t, browser, page, "--dump-dom")
			if err := json.Unmarshal(report, &seen); err != nil || len(seen.Reports) != 1 || len(seen.Reports[0].Status) != 1 || seen.Reports[0].Status[0] != "succeeded" {
				t.Fatalf("%v: %.2000s", err, report)
			}
			if *update {
				crop(t, whole, "../../docs/pictures/"+r.picture+".png")
			}
		})
	}
}

// crop writes a picture without the empty space below and the margin around it.
func crop(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	b := whole.Bounds()
	empty, last := whole.At(b.Min.X, b.Max.Y-1), b.Min.Y
	for y := b.Min.Y; y < b.Max.Y; y++ {
		if whole.At(b.Dx()/2, y) != empty {
			last = y
		}
	}
	part := picture.NewNRGBA(picture.Rect(0, 0, b.Dx()-2*margin+2, last+1-margin))
	draw.Draw(part, part.Bounds(), whole, picture.Pt(margin, margin), draw.Src)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, part); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// margin is that of testdata/app/host.html, in pixels.
const margin = 16
