import { once } from "node:events";
import { readFile } from "node:fs/promises";
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

test("a supervised process has its grace if its PATH has no programs", async () => {
  const server = await spawnSupervised(
    ["/bin/sh", "-c", "trap '/bin/sleep 0.3; exit 7' TERM; echo up; while :; do /bin/sleep 0.1; done"],
    { output: "pipe", environment: { PATH: "/nowhere" }, inherit: false },
  );
  await once(server.stdout!, "data");
  await server.stop();
  expect(await server.exited).toEqual({ code: 7, expected: true });
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

test("a supervised process whose group is stopped is killed too", async () => {
  const server = await spawnSupervised(["/bin/sh", "-c", "echo $$; kill -STOP 0"], {
    output: "pipe",
    stopGraceS: 1,
  });
  const [pid] = await once(server.stdout!, "data");
  const supervisor = /^\d+ \(sh\) \w (\d+)/.exec(await readStat(String(pid).trim()))![1]!;
  await expect.poll(() => readStat(supervisor)).toMatch(/^\d+ \(sh\) T/);
  await server.stop();
  expect(await server.exited).toEqual({ code: 128 + 9, expected: true });
});

function readStat(pid: string): Promise<string> {
  return readFile(`/proc/${pid}/stat`, "utf8");
}
