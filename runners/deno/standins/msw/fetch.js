// msw and nock replace sockets on Node, which Deno's fetch does not use. This is part of
// bootstrap.js.

// mockFetch has them mock fetch as in browsers. Their channels need Node's methods to let a
// program end.
async function mockFetch() {
  const mocked = "@mswjs/interceptors/fetch";
  const channel = BroadcastChannel.prototype, ref = getOwnPropertySymbols(channel).find((symbol) => symbol.description === "refBroadcastChannel");
  if (ref) here.answer(channel, "ref", function () { return this[ref](true), this });
  if (ref) here.answer(channel, "unref", function () { return this[ref](false), this });
  await resolveBy((specifier, from, next) => {
    if (specifier !== mocked) return;
    const found = next(mocked + "/web", from);
    if (/\.m?js$/.test(found.url)) return found; // else it is an older version, which has one for all
  });
}
