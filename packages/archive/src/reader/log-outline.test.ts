import { expect, it } from "vitest";
import { LogOutline } from "./log-outline.ts";
import { toLogEvents } from "./moderated-log.fixture.ts";

const started = (attempt: number) =>
  ({ type: "generation.started", attempt, worker: "w", model: "sim" }) as const;
const said = { type: "output.delta", text: "a" } as const;

it("a cursor has the attempt that was the last one to begin when its event was written", async () => {
  const log = toLogEvents([said, started(1), said, { ...started(2), nonce: "0a1b2c" }, said]);
  const outline = await LogOutline.of(
    (async function* () {
      yield* log;
    })(),
  );
  expect(log.map(({ seq }) => outline.cursorAt(seq))).toEqual([
    "0-0",
    "1-1",
    "1-2",
    "2.0a1b2c-3",
    "2.0a1b2c-4",
  ]);
  expect(outline.lastSeq).toBe(4);
});
