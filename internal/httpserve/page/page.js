"use strict";
const $ = (id) => document.getElementById(id);

// put replaces the rows of a table; each cell is text, never HTML.
function put(id, rows, heads) {
  $(id).replaceChildren(...rows.map((cells) => {
    const tr = document.createElement("tr");
    cells.forEach((text, i) => {
      const cell = document.createElement(heads && i === 0 ? "th" : "td");
      cell.textContent = text;
      if (!heads && i === cells.length - 1) cell.className = "number";
      tr.append(cell);
    });
    return tr;
  }));
}

const duration = (s) => s < 120 ? `${s} s` : s < 7200 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h`;
const size = (n) => n < 1 << 20 ? `${Math.ceil(n / 1024)} KiB` : `${Math.round(n / (1 << 20))} MiB`;

function show(s) {
  $("version").textContent = s.version;
  $("state").textContent = `${s.state}, up for ${duration(s.up_seconds)}`;
  $("state").className = s.state === "ready" ? "" : "bad";
  $("running").textContent = `${s.running} of ${s.places}`;
  $("waiting").textContent = s.waiting;
  $("load").max = s.places;
  $("load").value = s.running;
  put("runs", s.runs.map((r) => [r.language, r.session ?? "", r.state, (r.ms / 1000).toFixed(1)]));
  put("facts", [
    ["client", s.client],
    ["clients lately", `${s.clients}, with ${s.mcp_sessions} MCP sessions and ${s.requests} requests in progress`],
    ["limits of a run", `${s.limits.timeout_seconds} s, ${size(s.limits.memory_bytes)}, ${s.limits.output_bytes} bytes of output`],
    ["permissions", s.permissions.join(" ") || "none"],
    ["isolation of JavaScript", s.isolation],
    ["kept of earlier runs", size(s.kept_bytes)],
    ["cache", s.cache],
    ["network", s.offline ? "offline: nothing is fetched" : "packages are fetched"],
  ], true);
}

async function refresh() {
  try {
    const answer = await fetch("status.json", { cache: "no-store" });
    if (!answer.ok) throw new Error(await answer.text());
    show(await answer.json());
  } catch (e) {
    $("state").textContent = `The server does not answer: ${e.message}`;
    $("state").className = "bad";
  }
  setTimeout(refresh, 2000);
}
refresh();
