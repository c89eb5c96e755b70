import { once } from "node:events";
import { expect, test } from "vitest";
import { spawnSupervised } from "./supervised-process.ts";

test("a supervised process is told to end, and its own status comes back", async () => {
  const server = await spawnSupervised(
    ["/bin/sh", "-c", "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done"],
    { output: "pipe" },
  );
  await once(server.stdout!, "data");
  await server.stop();
  expect(await server.exited).toEqual({ code: 7, expected: true });
});

test("a supervised process that does not listen is killed after its grace", async () => {
  const server = await spawnSupervised(
    ["/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"],
    {
      output: "pipe",
      stopGraceS: 1,
    },
  );
  await once(server.stdout!, "data");
  await server.stop();
  expect(await server.exited).toEqual({ code: 128 + 9, expected: true });
});

test("a supervised process that ends by itself was not expected to", async () => {
  const server = await spawnSupervised(["/bin/sh", "-c", "exit 3"]);
  expect(await server.exited).toEqual({ code: 3, expected: false });
  await server.stop();
});

test("a supervised process can't read what its supervisor waits on", async () => {
  const server = await spawnSupervised(["/bin/cat"], { output: "pipe" });
  expect(await server.exited).toEqual({ code: 0, expected: false });
});
