// What test frameworks give to tests of pages: the globals of a browser, by jsdom. As with
// Vitest, window is the global object, and what both it and a page have is Deno's, but for
// what a page takes only of its own.
import { JSDOM } from "jsdom";
import { afterAll, afterEach, beforeAll } from "coderunner:tests";

const { window: page } = new JSDOM("<!DOCTYPE html><html><head></head><body></body></html>", { url: "http://localhost:3000/", pretendToBeVisual: true });
const own = ["CustomEvent", "Event", "EventTarget", "FormData", "MessageEvent", "ProgressEvent", "location", "navigator"];
for (const name of Object.getOwnPropertyNames(page)) {
  if (/^_|^(constructor|window|self|top|parent|globalThis)$/.test(name) || name in globalThis && !own.includes(name)) continue;
  const value = page[name], bound = typeof value === "function" && !/^[A-Z]/.test(name) ? value.bind(page) : value;
  Object.defineProperty(globalThis, name, { value: bound, writable: true, configurable: true, enumerable: true });
}
for (const name of ["addEventListener", "removeEventListener"]) globalThis[name] = page[name].bind(page);
const dispatch = globalThis.dispatchEvent; // Deno calls it, too
globalThis.dispatchEvent = (event) => event instanceof page.Event ? page.dispatchEvent(event) : dispatch(event);
for (const name of ["window", "self", "top", "parent"]) Object.defineProperty(globalThis, name, { value: globalThis, writable: true, configurable: true });
Object.assign(globalThis, { afterAll, afterEach, beforeAll }); // by which Testing Library clears the page after each test
