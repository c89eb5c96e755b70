import { RepriseError } from "@reprise/protocol";
import { expect, test } from "vitest";
import { Thread } from "./thread.ts";

const script = new URL("./thread.fixture.ts", import.meta.url);
const start = (greeting = "Hello") => new Thread({ script, data: { greeting } });

test("answers calls, in whatever order they end", async () => {
  await using thread = start();
  const never = thread.call("never", undefined);
  expect(await thread.call("greet", "world")).toBe("Hello, world");
  await thread.close();
  await expect(never).rejects.toMatchObject({ code: "overloaded" });
});

test("moves bytes there and back without a copy", async () => {
  await using thread = start();
  const bytes = Uint8Array.of(1, 2, 3);
  const answer = thread.call("reverse", bytes, [bytes.buffer]);
  expect(bytes.length).toBe(0);
  expect(await answer).toEqual(Uint8Array.of(3, 2, 1));
});

test("an error arrives as it was thrown: a RepriseError with its fields, any other as itself", async () => {
  await using thread = start();
  const refused = await thread.call("refuse", undefined).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RepriseError);
  expect(refused).toMatchObject({
    code: "invalid_request",
    message: "no",
    param: "body",
    retryAfterMs: 7,
  });
  const broken = await thread.call("break", undefined).catch((error: unknown) => error);
  expect(String(broken)).toContain("TypeError: broken");
});

test("a thread that dies rejects its calls, and the next call starts another", async () => {
  await using thread = start();
  const waiting = thread.call("never", undefined);
  const fatal = thread.call("die", undefined);
  await expect(fatal).rejects.toMatchObject({ code: "overloaded", cause: { message: "a defect" } });
  await expect(waiting).rejects.toMatchObject({ code: "overloaded" });
  expect(await thread.call("greet", "again")).toBe("Hello, again");
});

test("a thread that can't start rejects its calls with the reason", async () => {
  await using thread = start("");
  await expect(thread.call("greet", "world")).rejects.toMatchObject({ code: "config_invalid" });
});

test("what was never started is told nothing, has been busy for no time, and closes at once", async () => {
  const thread = start();
  await thread.tell("greet", "world");
  expect(thread.busyMs).toBe(0);
  await thread.close();
  await expect(thread.call("greet", "world")).rejects.toMatchObject({ code: "overloaded" });
});

test("counts for how long the thread was busy", async () => {
  await using thread = start();
  await thread.call("greet", "world");
  expect(thread.busyMs).toBeGreaterThan(0);
});
