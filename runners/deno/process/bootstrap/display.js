// What a program shows: by the global function display, and the last
// expression's value if it has a method of the symbol that Deno's notebooks use
// (Deno.jupyter itself throws here and cannot be replaced). This is part of
// bootstrap.js, and reports records of kind "d".

const displaySymbol = Symbol.for("Jupyter.display");
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const displayTypes = [...imageTypes, "image/svg+xml", "+json", "text/html", "text/markdown", "text/latex", "application/json", "text/plain"];
const displayRoom = { __proto__: null, count: 100, chars: 24 << 20 }; // the host keeps no more
const mostShown = 11 << 20; // characters of one, in base64
let endsWith, toBase64; // set by defineDisplay

function isBytes(value) {
  try {
    return byteLength(value) >= 0;
  } catch {
    return false;
  }
}

// rank returns how rich a media type is; less is richer.
function rank(type) {
  for (let i = 0; i < displayTypes.length; i++) {
    if (type === displayTypes[i] || displayTypes[i] === "+json" && endsWith(type, "+json")) return i;
  }
  return displayTypes.length;
}

// sendDisplay reports the richest form of a bundle, by media type.
function sendDisplay(bundle) {
  let best;
  const types = keys(bundle);
  for (let i = 0; i < types.length; i++) {
    if (best === undefined || rank(types[i]) < rank(best)) best = types[i];
  }
  if (best === undefined) return;
  let data = bundle[best];
  if (best === "text/markdown" || best === "text/latex" || best === "text/plain") return print(NativeString(bundle["text/plain"] ?? data)); // in its place
  if (isBytes(data)) data = toBase64(data);
  else if (typeof data !== "string") data = endsWith(best, "json") ? stringify(data) : NativeString(data);
  const plain = text(bundle["text/plain"] ?? "", errorRoom);
  if (data.length > mostShown || data.length > displayRoom.chars || displayRoom.count <= 0) return report("d", "", "", "");
  displayRoom.count--;
  displayRoom.chars -= data.length;
  report("d", text(best, 200), data, plain);
}

// isShown reports whether a value has the method.
function isShown(value) {
  return (typeof value === "object" || typeof value === "function") && value !== null && typeof value[displaySymbol] === "function";
}

// show shows a value that has the method. It returns whether it did, or a promise
// of that.
function show(value) {
  const bundle = value[displaySymbol]();
  return bundle instanceof NativePromise ? then(bundle, showBundle) : showBundle(bundle);
}

function showBundle(bundle) {
  if (typeof bundle !== "object" || bundle === null) return false;
  sendDisplay(bundle);
  return true;
}

// signatures are how images begin, by the first byte.
const signatures = { __proto__: null, 0x89: "image/png", 0xff: "image/jpeg", 0x47: "image/gif", 0x52: "image/webp" };

// display shows a value in its richest form: an object with the symbol's method,
// the bytes of an image, or, with the option raw, data by media type. What is
// only text is printed.
function display(value, options) {
  const type = isBytes(value) ? signatures[value[0]] : undefined;
  if (options?.raw) return sendDisplay(value);
  if (type) return sendDisplay({ [type]: value });
  const shown = isShown(value) && show(value);
  if (!shown) print(inspect(value, { __proto__: null, colors: false }));
  return shown;
}

// defineDisplay makes display global.
function defineDisplay() {
  endsWith = method(String.prototype.endsWith);
  toBase64 = method(NativeUint8Array.prototype.toBase64);
  defineProperty(globalThis, "display", { value: display, writable: true, configurable: true, enumerable: false });
}
