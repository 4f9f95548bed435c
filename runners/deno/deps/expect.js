// What Jest and Vitest define beside it: expect, functions that remember their calls,
// and timers that stand still.
import { mock } from "node:test";
import { expect } from "expect";
import { ModuleMocker } from "jest-mock";

const mocker = new ModuleMocker(globalThis), { timers } = mock;
const settle = async (run) => {
  for (let i = 0; i < 10; i++) await null;
  run();
  for (let i = 0; i < 10; i++) await null;
};
const missing = (name) => () => {
  throw new Error(`${name} replaces modules before they are loaded, which does not work here: pass what is to be replaced as an argument, or use spyOn`);
};
const jest = {
  setTimeout() {},
  useFakeTimers() {
    timers.reset();
    timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate", "Date"], now: Date.now() });
    return jest;
  },
  useRealTimers: () => (timers.reset(), jest),
  advanceTimersByTime: (ms) => (timers.tick(ms), jest),
  advanceTimersByTimeAsync: (ms) => settle(() => timers.tick(ms)),
  runAllTimers: () => (timers.runAll(), jest),
  runAllTimersAsync: () => settle(() => timers.runAll()),
  runOnlyPendingTimers: () => (timers.runAll(), jest),
  setSystemTime: (time) => (timers.setTime(+new Date(time)), jest),
  mock: missing("mock"),
  doMock: missing("doMock"),
};
for (const name of ["fn", "spyOn", "isMockFunction", "replaceProperty", "clearAllMocks", "resetAllMocks", "restoreAllMocks"]) jest[name] = mocker[name].bind(mocker);
jest.mocked = (value) => value;
expect.extend({
  toHaveBeenCalledOnce: (called) => ({ pass: called.mock.calls.length === 1, message: () => `called ${called.mock.calls.length} times, expected once` }),
});
export { expect, jest, jest as vi };
