"use strict";
// Draws what charts of Plotly and Vega-Lite have in common: lines, points and
// bars over numbers, times or names. Any other chart is null.

const palette = ["#3b82d6", "#e8833a", "#3aa76d", "#d6504f", "#8d6cc9", "#8c6d4f", "#d773b5", "#7f8792", "#b5b13a", "#34b3c0"];

// values returns the array that Plotly wrote as a list or as typed bytes.
function values(v) {
  if (!v || typeof v !== "object") return [];
  if (Array.isArray(v)) return v;
  const kinds = { f8: Float64Array, f4: Float32Array, i4: Int32Array, i2: Int16Array, i1: Int8Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };
  const kind = kinds[v.dtype];
  if (!kind || typeof v.bdata !== "string" || v.shape) return [];
  const bytes = Uint8Array.from(atob(v.bdata), (c) => c.charCodeAt(0));
  return [...new kind(bytes.buffer, 0, Math.floor(bytes.length / kind.BYTES_PER_ELEMENT))];
}

const titleText = (t) => String((t && typeof t === "object" ? t.text : t) ?? "").replace(/<[^>]*>/g, " ");

// fromPlotly returns the chart of a Plotly figure.
function fromPlotly(figure) {
  const layout = figure.layout ?? {}, chart = { title: titleText(layout.title), x: titleText(layout.xaxis?.title), y: titleText(layout.yaxis?.title), series: [] };
  for (const t of figure.data ?? []) {
    let x = values(t.x), y = values(t.y), kind = "line";
    const type = t.type ?? "scatter";
    if (type === "bar") {
      kind = "bar";
      if (t.orientation === "h") [x, y] = [y, x];
    } else if (type === "pie") {
      kind = "bar", x = values(t.labels), y = values(t.values);
    } else if (type === "histogram") {
      kind = "bar";
      const bins = histogram(x.length ? x : y);
      x = bins.map((b) => b.name), y = bins.map((b) => b.count);
    } else if (type === "scatter" || type === "scattergl") {
      if (t.mode ? !t.mode.includes("lines") : y.length < 20) kind = "point";
    } else return null;
    if (!x.length) x = y.map((_, i) => i);
    chart.series.push({ name: titleText(t.name), kind, x, y });
  }
  return chart.series.length ? chart : null;
}

function histogram(list) {
  const nums = list.map(Number).filter(Number.isFinite);
  if (!nums.length) return [];
  const low = nums.reduce((a, b) => Math.min(a, b)), high = nums.reduce((a, b) => Math.max(a, b));
  const step = ticks(low, high, 12).step, first = Math.floor(low / step), bins = [];
  for (let i = first; i <= Math.floor(high / step); i++) bins.push({ name: `${+(i * step).toPrecision(6)}–${+((i + 1) * step).toPrecision(6)}`, count: 0 });
  for (const n of nums) bins[Math.floor(n / step) - first].count++;
  return bins;
}

// fromVega returns the chart of a Vega-Lite specification.
function fromVega(spec, outer = {}) {
  if (Array.isArray(spec.layer)) {
    const charts = spec.layer.map((l) => fromVega(l, { ...outer, ...spec, layer: undefined, mark: undefined }));
    return charts.includes(null) ? null : { ...charts[0], title: titleText(spec.title), series: charts.flatMap((c) => c.series) };
  }
  const data = spec.data ?? outer.data ?? {}, rows = data.values ?? (spec.datasets ?? outer.datasets ?? {})[data.name];
  const enc = { ...outer.encoding, ...spec.encoding }, mark = spec.mark?.type ?? spec.mark;
  const kind = { line: "line", area: "line", trail: "line", point: "point", circle: "point", square: "point", tick: "point", bar: "bar", arc: "bar" }[mark];
  let ex = enc.x ?? (mark === "arc" ? enc.color : undefined), ey = enc.y ?? (mark === "arc" ? enc.theta : undefined);
  if (!Array.isArray(rows) || !kind || !ex || !ey || ex.bin || ey.bin || enc.row || enc.column || enc.facet) return null;
  if (kind === "bar" && ex.type === "quantitative" && ey.type !== "quantitative") [ex, ey] = [ey, ex];
  const get = (row, e) => e.field === undefined ? undefined : row[String(e.field).replaceAll("\\", "")];
  const groups = new Map();
  for (const row of rows) {
    const name = mark !== "arc" && enc.color?.field ? String(get(row, enc.color)) : "";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push([get(row, ex), get(row, ey)]);
  }
  const chart = { title: titleText(spec.title), x: titleText(ex.title ?? ex.field), y: titleText(ey.title ?? ey.field ?? ey.aggregate), series: [] };
  for (const [name, pairs] of groups) {
    const points = ey.aggregate ? aggregate(pairs, ey.aggregate) : pairs;
    if (!points) return null;
    if (kind === "line") points.sort((a, b) => (a[0] > b[0]) - (a[0] < b[0]));
    chart.series.push({ name, kind, x: points.map((p) => p[0]), y: points.map((p) => p[1]) });
  }
  return chart;
}

function aggregate(pairs, how) {
  const by = new Map();
  for (const [x, y] of pairs) by.set(x, [...(by.get(x) ?? []), Number(y)]);
  const sum = (l) => l.reduce((a, b) => a + b, 0);
  const f = { count: (l) => l.length, sum, mean: (l) => sum(l) / l.length, average: (l) => sum(l) / l.length, min: (l) => Math.min(...l), max: (l) => Math.max(...l),
    median: (l) => { l.sort((a, b) => a - b); return (l[(l.length - 1) >> 1] + l[l.length >> 1]) / 2; } }[how];
  return f ? [...by].map(([x, l]) => [x, f(l)]) : null;
}

// ticks returns round numbers between two.
function ticks(low, high, n) {
  const rough = (high - low || Math.abs(high) || 1) / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  const at = [];
  for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9 && at.length < 50; i++) at.push(+(i * step).toPrecision(12));
  return { step, at };
}

const short = (n) => Math.abs(n) >= 1e5 || (n && Math.abs(n) < 1e-3) ? n.toExponential(1).replace("e+", "e") : String(+n.toPrecision(6));
const clipText = (s, n) => s.length > n ? s.slice(0, n - 1) + "…" : s;

function svg(name, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

// xScale returns how the values of the x axis are placed between 0 and 1.
function xScale(series, bars) {
  const all = series.flatMap((s) => s.x), iso = /^\d{4}-\d\d(-\d\d)?([T ][\d:.]+.*)?$/;
  const time = all.length > 0 && all.every((v) => typeof v === "string" && iso.test(v) && !isNaN(Date.parse(v)));
  if (!bars && (time || all.every((v) => typeof v === "number" || v === null))) {
    const number = time ? (v) => Date.parse(v) : (v) => v, nums = all.map(number).filter(Number.isFinite);
    let low = nums.reduce((a, b) => Math.min(a, b), Infinity), high = nums.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!(high > low)) low -= .5, high += .5;
    const at = (n) => (n - low) / (high - low);
    if (!time) return { place: (v) => at(number(v)), marks: ticks(low, high, 8).at.map((n) => [at(n), short(n)]) };
    const day = 864e5, marks = [0, 1, 2, 3, 4, 5].map((i) => low + (high - low) * i / 5);
    const label = (n) => new Date(n).toISOString().slice(...(high - low < 2 * day ? [5, 16] : high - low < 800 * day ? [0, 10] : [0, 7])).replace("T", " ");
    return { place: (v) => at(number(v)), marks: marks.map((n) => [at(n), label(n)]) };
  }
  const names = [...new Set(all.map(String))], every = Math.ceil(names.length / 16);
  const place = (v) => (names.indexOf(String(v)) + .5) / names.length;
  return { place, names, marks: names.filter((_, i) => i % every === 0).map((n) => [place(n), clipText(n, Math.max(6, Math.floor(84 / Math.min(names.length, 16))))]) };
}

// drawChart returns an svg element.
function drawChart(chart) {
  const W = 720, H = 380, named = chart.series.filter((s) => s.name), legend = named.length && chart.series.length > 1 ? 22 : 0;
  const box = { left: 64, right: 16, top: (chart.title ? 34 : 14) + legend, bottom: chart.x ? 52 : 34 };
  const w = W - box.left - box.right, h = H - box.top - box.bottom, out = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart", role: "img" });
  const bars = chart.series.filter((s) => s.kind === "bar"), scale = xScale(chart.series, bars.length > 0);
  const nums = chart.series.flatMap((s) => s.y.map(Number)).filter(Number.isFinite);
  let low = nums.reduce((a, b) => Math.min(a, b), Infinity), high = nums.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!(high >= low)) return null;
  if (bars.length) low = Math.min(low, 0), high = Math.max(high, 0);
  if (low === high) low -= .5, high += .5;
  const grid = ticks(low, high, 6);
  low = Math.min(low, Math.floor(low / grid.step + 1e-9) * grid.step), high = Math.max(high, Math.ceil(high / grid.step - 1e-9) * grid.step);
  const X = (v) => box.left + scale.place(v) * w, Y = (v) => box.top + (1 - (v - low) / (high - low)) * h;
  const text = (x, y, s, more = {}) => out.append(svg("text", { x, y, "text-anchor": "middle", ...more }, s));
  if (chart.title) text(W / 2, 20, clipText(chart.title, 90), { class: "title" });
  for (const n of ticks(low, high, 6).at) {
    out.append(svg("line", { x1: box.left, x2: W - box.right, y1: Y(n), y2: Y(n), class: "grid" }));
    text(box.left - 8, Y(n) + 4, short(n), { "text-anchor": "end", class: "tick" });
  }
  for (const [at, label] of scale.marks) text(box.left + at * w, H - box.bottom + 18, label, { class: "tick" });
  if (chart.x) text(box.left + w / 2, H - 8, clipText(chart.x, 80));
  if (chart.y) text(0, 0, clipText(chart.y, 40), { transform: `translate(14 ${box.top + h / 2}) rotate(-90)` });
  let at = box.left;
  chart.series.forEach((s, i) => {
    const color = palette[i % palette.length], tip = (x, y) => svg("title", {}, `${s.name ? s.name + ": " : ""}${x}, ${y}`);
    if (legend && s.name && at < W - 80) {
      const name = clipText(s.name, 22);
      out.append(svg("rect", { x: at, y: box.top - 20, width: 10, height: 10, rx: 2, fill: color }));
      text(at + 15, box.top - 11, name, { "text-anchor": "start" });
      at += 34 + name.length * 7;
    }
    const points = s.x.map((x, k) => [x, s.y[k] === null ? NaN : Number(s.y[k])]);
    if (s.kind === "bar") {
      const slot = w / scale.names.length, width = Math.min(slot * .8, 80), each = width / bars.length, first = bars.indexOf(s) * each - width / 2;
      for (const [x, y] of points) if (Number.isFinite(y)) {
        out.append(svg("rect", { x: X(x) + first, y: Math.min(Y(y), Y(0)), width: Math.max(each - 1, .5), height: Math.abs(Y(y) - Y(0)), rx: 2, fill: color }, tip(x, y)));
      }
      return;
    }
    if (s.kind === "line") {
      let path = "";
      for (const [x, y] of points) path += Number.isFinite(y) ? `${path === "" || path.endsWith(" ") ? "M" : "L"}${X(x).toFixed(1)},${Y(y).toFixed(1)}` : " ";
      out.append(svg("path", { d: path, fill: "none", stroke: color, "stroke-width": 2, "stroke-linejoin": "round" }));
    }
    const r = s.kind === "point" ? 3.5 : points.length > 60 ? 0 : 2.5;
    if (r) for (const [x, y] of points.slice(0, 5000)) if (Number.isFinite(y)) out.append(svg("circle", { cx: X(x), cy: Y(y), r, fill: color, "fill-opacity": s.kind === "point" ? .75 : 1 }, tip(x, y)));
  });
  return out;
}

// chartRows returns a chart's data as rows of a table.
function chartRows(chart) {
  const names = chart.series.some((s) => s.name);
  return {
    head: [...(names ? ["series"] : []), chart.x || "x", chart.y || "y"],
    rows: chart.series.flatMap((s) => s.x.map((x, i) => [...(names ? [s.name] : []), x, s.y[i]])),
  };
}
