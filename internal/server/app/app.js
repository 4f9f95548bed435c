"use strict";
// The host, a page around this one, sends the result of a call. What the
// program made is data here: text, images, and HTML in a frame of its own that
// can reach nothing.

const maxRows = 500;
const main = document.getElementById("main");
let host = {};

// Messages are JSON-RPC, and come from the host only: a program's frame is a
// window, too.
const waiting = new Map();
let lastID = 0;
const send = (m) => window.parent.postMessage({ jsonrpc: "2.0", ...m }, "*");
const request = (method, params) => new Promise((resolve, reject) => {
  waiting.set(++lastID, { resolve, reject });
  send({ id: lastID, method, params });
});

window.addEventListener("message", (event) => {
  const m = event.data;
  if (event.source !== window.parent || m?.jsonrpc !== "2.0") return;
  if (m.method === undefined) {
    const w = waiting.get(m.id);
    waiting.delete(m.id);
    if (w) m.error ? w.reject(new Error(m.error.message)) : w.resolve(m.result);
    return;
  }
  if (m.method === "ui/notifications/tool-result") show(m.params ?? {});
  else if (m.method === "ui/notifications/tool-cancelled") main.replaceChildren(el("p", { class: "quiet" }, "The call was cancelled."));
  else if (m.method === "ui/notifications/host-context-changed") adapt(m.params ?? {});
  else if (m.id !== undefined) {
    if (m.method === "ping" || m.method === "ui/resource-teardown") send({ id: m.id, result: {} });
    else send({ id: m.id, error: { code: -32601, message: "not offered" } });
  }
});

function adapt(context) {
  const root = document.documentElement;
  if (context.theme === "light" || context.theme === "dark") root.dataset.theme = context.theme;
  for (const [name, value] of Object.entries(context.styles?.variables ?? {})) {
    if (name.startsWith("--") && typeof value === "string") root.style.setProperty(name, value);
  }
}

function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) k.startsWith("on") ? e.addEventListener(k.slice(2), v) : e.setAttribute(k, v);
  e.append(...children);
  return e;
}

const section = (title, ...children) => el("section", {}, ...(title ? [el("h2", {}, title)] : []), ...children);
const action = (label, onclick) => el("button", { class: "action", type: "button", onclick }, label);
const base64 = (text) => { let s = ""; for (const b of new TextEncoder().encode(text)) s += String.fromCharCode(b); return btoa(s); };
const size = (n) => n < 1e4 ? `${n} bytes` : n < 1e7 ? `${Math.round(n / 1e3)} kB` : `${Math.round(n / 1e6)} MB`;

function lines(text, bad) {
  const pre = el("pre", bad ? { class: "bad" } : {}, text);
  const n = text.split("\n").length;
  return n <= 40 ? pre : el("details", {}, el("summary", {}, `${n} lines`), pre);
}

// table returns a table that its heads sort.
function table(head, rows, file) {
  const number = head.map((_, i) => rows.length > 0 && rows.every((r) => r[i] === null || r[i] === "" || typeof r[i] === "number" || typeof r[i] === "string" && Number.isFinite(Number(r[i]))));
  const cell = (v) => v === null || v === undefined ? "" : typeof v === "object" ? JSON.stringify(v) : String(v);
  const body = el("tbody", {});
  const fill = () => body.replaceChildren(...rows.slice(0, maxRows).map((r) => el("tr", {}, ...head.map((_, i) => el("td", { title: cell(r[i]), ...(number[i] ? { class: "number" } : {}) }, cell(r[i]))))));
  const heads = head.map((name, i) => el("th", { scope: "col", ...(number[i] ? { class: "number" } : {}) }, el("button", { type: "button", onclick: () => {
    const up = heads[i].getAttribute("aria-sort") !== "ascending";
    heads.forEach((h) => h.removeAttribute("aria-sort"));
    heads[i].setAttribute("aria-sort", up ? "ascending" : "descending");
    const compare = number[i] ? (a, b) => Number(a) - Number(b) : (a, b) => cell(a).localeCompare(cell(b), undefined, { numeric: true });
    const empty = (v) => v === null || v === undefined || v === "";
    rows.sort((a, b) => empty(a[i]) || empty(b[i]) ? empty(a[i]) - empty(b[i]) : (up ? 1 : -1) * compare(a[i], b[i]));
    fill();
  } }, String(name))));
  fill();
  const quote = (v) => /[",\n\r]/.test(cell(v)) ? `"${cell(v).replaceAll('"', '""')}"` : cell(v);
  const csv = () => [head, ...rows].map((r) => head.map((_, i) => quote(r[i])).join(",")).join("\n") + "\n";
  return el("div", {}, el("div", { class: "table" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)),
    el("div", { class: "under" }, `${rows.length} rows${rows.length > maxRows ? `, the first ${maxRows} shown` : ""}`, action("Download CSV", () => download(file, "text/csv", csv()))));
}

// records returns the head and rows of an array of objects or of arrays.
function records(v) {
  if (!Array.isArray(v) || v.length < 2) return null;
  if (v.every((r) => r && typeof r === "object" && !Array.isArray(r))) {
    const head = [...new Set(v.flatMap((r) => Object.keys(r)))];
    return head.length && head.length <= 200 ? { head, rows: v.map((r) => head.map((k) => r[k])) } : null;
  }
  if (v.every((r) => Array.isArray(r) && r.length === v[0].length && r.length > 1)) return { head: v[0].map((_, i) => i), rows: v.slice() };
  return null;
}

function parseCSV(text, comma) {
  const rows = [[]];
  let field = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') field += '"', i++;
      else quoted = false;
    } else if (c === '"' && field === "") quoted = true;
    else if (c === comma) rows.at(-1).push(field), field = "";
    else if (c === "\n") rows.at(-1).push(field.replace(/\r$/, "")), field = "", rows.push([]);
    else field += c;
  }
  if (field || rows.at(-1).length) rows.at(-1).push(field);
  else rows.pop();
  return rows.length > 1 && rows.every((r) => r.length === rows[0].length) ? { head: rows[0], rows: rows.slice(1) } : null;
}

// onlyTable returns the table of a document that is nothing else, such as a data
// frame's. The parser runs and loads nothing.
function onlyTable(html) {
  const doc = new DOMParser().parseFromString(html, "text/html"), tables = doc.querySelectorAll("table");
  doc.querySelectorAll("style, script").forEach((e) => e.remove());
  if (tables.length !== 1 || tables[0].querySelector("[rowspan], [colspan], img, svg, a") || doc.body.textContent.trim().length > tables[0].textContent.trim().length + 60) return null;
  const rows = [...tables[0].rows].map((r) => [...r.cells].map((c) => c.textContent.trim()));
  return rows.length > 1 && rows.every((r) => r.length === rows[0].length) ? { head: rows[0], rows: rows.slice(1) } : null;
}

// What of a program's HTML is shown. A browser connects for elements that no policy keeps
// from it (a link with rel=preconnect, a frame's address, a refresh) and looks up names, so
// none of them is there: what is on the lists is built anew, and the rest left out.
const shown = new Set(`a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del details dfn div dl dt em
  figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark meter nav ol p pre progress q rp rt ruby s samp section small
  span strike strong style sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr
  svg g path circle rect line polyline polygon ellipse text tspan defs lineargradient radialgradient stop clippath marker symbol use title desc`.split(/\s+/));
const unwrapped = new Set("html head body form label fieldset legend button picture template".split(" ")); // what is in them is shown
const told = new Set(`class id style title alt width height colspan rowspan span align valign border cellpadding cellspacing scope dir lang open start
  type value max min datetime color size face bgcolor`.split(/\s+/));
const svgNS = "http://www.w3.org/2000/svg", htmlNS = "http://www.w3.org/1999/xhtml", outside = /url\(\s*(?!["']?(#|data:))/i;

// attribute reports whether an element keeps an attribute.
function attribute(e, svg, name, value) {
  if (outside.test(value)) return false;
  if (name === "src") return e === "img" && /^data:image\//i.test(value);
  if (name === "href" || name === "xlink:href") return svg && value.startsWith("#");
  return svg ? !name.startsWith("on") && !name.includes(":") : told.has(name);
}

// rebuilt returns what is shown of a node's children: texts, and arrays of an element's
// name, whether it is of SVG, its attributes and its children.
function rebuilt(node, deep = 0) {
  if (deep > 200) return [];
  return [...node.childNodes].flatMap((n) => {
    if (n.nodeType === Node.TEXT_NODE) return [n.data];
    if (n.nodeType !== Node.ELEMENT_NODE) return [];
    const name = n.localName, svg = n.namespaceURI === svgNS;
    if (unwrapped.has(name)) return rebuilt(n.content ?? n, deep + 1);
    if (!shown.has(name.toLowerCase()) || !svg && n.namespaceURI !== htmlNS) return [];
    if (name === "style") return [[name, svg, [], [n.textContent.replace(/@import[^;]*;?/gi, "")]]];
    return [[name, svg, [...n.attributes].filter((a) => attribute(name, svg, a.name, a.value)).map((a) => [a.name, a.value]), rebuilt(n, deep + 1)]];
  });
}

// frame returns a program's HTML in a frame without an origin, a network or scripts but
// ours, which builds the document and reports its height. What would run scripts could
// reach a network whatever the frame's policy is, so they are for a browser of the user's.
function frame(html) {
  const f = el("iframe", { sandbox: "allow-scripts", referrerpolicy: "no-referrer", title: "HTML that the program made" });
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16)).join("");
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; webrtc 'block'`;
  const build = (list, to) => {
    for (const n of list) {
      if (typeof n === "string") { to.append(n); continue; }
      const e = document.createElementNS(n[1] ? "SVG" : "HTML", n[0]);
      for (const [k, v] of n[2]) e.setAttribute(k, v);
      build(n[3], e);
      to.append(e);
    }
  };
  const tree = JSON.stringify(rebuilt(new DOMParser().parseFromString(html, "text/html"))).replaceAll("<", "\\u003c");
  const script = `const build = ${String(build).replace('"SVG"', `"${svgNS}"`).replace('"HTML"', `"${htmlNS}"`)}; build(${tree}, document.body);
    const r = () => parent.postMessage({ height: Math.ceil(document.documentElement.getBoundingClientRect().height) }, "*"); addEventListener("load", r); new ResizeObserver(r).observe(document.documentElement);`;
  f.srcdoc = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><meta http-equiv="x-dns-prefetch-control" content="off"><meta name="color-scheme" content="light"><style>html { font: 14px system-ui, sans-serif; overflow-x: auto }</style><body><script nonce="${nonce}">${script}<\/script>`;
  window.addEventListener("message", (e) => {
    if (e.source === f.contentWindow && Number.isFinite(e.data?.height)) f.style.height = `${Math.min(Math.max(e.data.height + 2, 40), 900)}px`;
  });
  if (!/<script|\son\w+\s*=/i.test(html)) return f;
  return el("div", {}, f, el("div", { class: "under" }, "Its scripts do not run here; a browser of yours runs them.", action("Download the page", () => download("page.html", "text/html", html))));
}

async function download(name, mime, text, link) {
  const contents = link ? [link] : [{ type: "resource", resource: { uri: `file:///${encodeURIComponent(name)}`, mimeType: mime, text } }];
  if (host.downloadFile) {
    await request("ui/download-file", { contents });
    return;
  }
  const data = text !== undefined ? { text } : (await read(link.uri)) ?? {};
  const a = el("a", { download: name, href: data.blob !== undefined ? `data:${mime};base64,${data.blob}` : `data:${mime};base64,${base64(data.text ?? "")}` });
  a.click();
}

// read returns a resource of the server, or null where the host has no way to it.
async function read(uri) {
  if (!host.serverResources) return null;
  try {
    return (await request("resources/read", { uri })).contents?.[0] ?? null;
  } catch {
    return null;
  }
}

// render returns what shows data of a media type.
function render(mime, data, name) {
  if (mime === "image/svg+xml") return el("img", { src: `data:image/svg+xml;base64,${base64(data)}`, alt: name });
  if (mime === "text/html") {
    const t = onlyTable(data);
    return t ? table(t.head, t.rows, "table.csv") : frame(data);
  }
  if (mime === "text/csv" || mime === "text/tab-separated-values") {
    const t = parseCSV(data, mime === "text/csv" ? "," : "\t");
    if (t) return table(t.head, t.rows, "table.csv");
  }
  if (/^application\/(.*\+)?json$/.test(mime)) {
    let v;
    try { v = JSON.parse(data); } catch { return lines(data); }
    const chart = mime.includes("plotly") ? fromPlotly(v) : mime.includes("vegalite") ? fromVega(v) : null, drawn = chart && drawChart(chart);
    if (drawn) {
      const t = chartRows(chart);
      return el("figure", {}, drawn, el("details", {}, el("summary", {}, "Data"), table(t.head, t.rows, "chart.csv")));
    }
    const t = records(v) ?? records(v.data?.values) ?? records(Object.values(v.datasets ?? {})[0]);
    return t ? table(t.head, t.rows, "table.csv") : lines(JSON.stringify(v, null, 2));
  }
  return lines(data);
}

async function display(item, i) {
  const whole = item.uri ? await read(item.uri) : null, data = whole?.text ?? (item.uri ? null : item.text);
  return section("", data === null || data === undefined ? lines(item.text || `${item.mime}, ${size(item.size ?? 0)}: in the resource ${item.uri}`) : render(item.mime, data, `display ${i + 1}`));
}

const bitmap = /^image\/(png|jpeg|gif|webp)$/;

function fileRow(f) {
  const link = f.uri && { type: "resource_link", uri: f.uri, name: f.path, mimeType: f.mime, size: f.size };
  const can = f.text !== undefined || link && (host.downloadFile || host.serverResources);
  return el("li", {}, el("span", { class: "name", title: f.path }, f.path), el("span", { class: "quiet" }, size(f.size ?? 0)),
    ...(can ? [action("Download", () => download(f.path.split("/").pop(), f.mime, link ? undefined : f.text, link))] : []));
}

let shows = 0;

// show shows a result: its structured content, or its content blocks where the
// server left that out.
async function show(result) {
  const mine = ++shows, r = result.structuredContent, content = result.content ?? [], parts = [];
  const images = content.filter((c) => c.type === "image" && bitmap.test(c.mimeType)).map((c, i) => section("", el("img", { src: `data:${c.mimeType};base64,${c.data}`, alt: `image ${i + 1}` })));
  if (!r) {
    parts.push(...content.filter((c) => c.type === "text").map((c) => lines(c.text, result.isError)), ...images);
    const links = content.filter((c) => c.type === "resource_link");
    if (links.length) parts.push(section("Files", el("ul", { class: "files" }, ...links.map((l) => fileRow({ path: l.name, uri: l.uri, mime: l.mimeType, size: l.size })))));
  } else {
    const ms = result._meta?.["coderunner/usage"]?.run_ms;
    parts.push(el("div", { class: "bar" }, el("span", { class: r.status === "succeeded" ? "status" : "status bad" }, String(r.status).replaceAll("_", " ")),
      ...[r.language, r.exit_code ? `exit code ${r.exit_code}` : "", ms === undefined ? "" : ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`].filter(Boolean).map((t) => el("span", {}, t))));
    if (r.error) parts.push(section("", lines(r.error.traceback || `${r.error.type}: ${r.error.message}`, true)));
    parts.push(...images, ...await Promise.all((r.displays ?? []).filter((d) => !bitmap.test(d.mime)).map(display)));
    if (r.result) {
      const t = records(r.result.json);
      parts.push(section("Result", t ? table(t.head, t.rows, "result.csv") : lines(r.result.json !== undefined ? JSON.stringify(r.result.json, null, 2) : r.result.text)));
    }
    if (r.stdout) parts.push(section("Output", lines(r.stdout.replace(/\n$/, ""))));
    if (r.stderr) parts.push(section("Errors and warnings", lines(r.stderr.replace(/\n$/, ""))));
    if (r.files?.length) {
      parts.push(section("Files", el("ul", { class: "files" }, ...r.files.map(fileRow))));
      for (const f of r.files) if (f.text !== undefined && /^(text\/csv|text\/tab-separated-values|image\/svg\+xml|text\/html)$/.test(f.mime)) parts.push(section(f.path, render(f.mime, f.text, f.path)));
    }
    if (parts.length === 1) parts.push(el("p", { class: "quiet" }, "The program printed nothing."));
  }
  if (mine === shows) main.replaceChildren(...parts);
}

new ResizeObserver(() => {
  const box = document.body.getBoundingClientRect();
  send({ method: "ui/notifications/size-changed", params: { width: Math.ceil(box.width), height: Math.ceil(box.height) } });
}).observe(document.body);

request("ui/initialize", {
  appInfo: { name: "coderunner", version: "1" }, appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] }, protocolVersion: "2026-01-26",
}).then((r) => {
  host = r.hostCapabilities ?? {};
  adapt(r.hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });
}).catch((e) => main.replaceChildren(el("p", { class: "quiet" }, `The host refused: ${e.message}`)));
