// adm-zip makes each directory of a path that is not there. This is part of bootstrap.js.

// seeAbove has the directories above the working directory be there for statSync, though
// nothing of them may be read.
async function seeAbove() {
  const fs = (await nodeModule()).createRequire(ownMeta.url)("fs"), { statSync } = fs;
  const call = (path, ...rest) => statSync(typeof path === "string" && path !== "" && slice(place.home, 0, path.length + 1) === path + "/" ? place.home : path, ...rest);
  here.answer(fs, "statSync", defineProperties(call, getOwnPropertyDescriptors(statSync)));
}
