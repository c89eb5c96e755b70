import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sendSignal } from "./send-signal.ts";
import { startTestBroker } from "../broker/start-test-broker.ts";

/** What the kernel says of each thread, e.g. `T (stopped)`. */
function threadStates(pid: number): readonly string[] {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).map(
    (thread) => /^State:\s*(.*)$/m.exec(readFileSync(`${tasks}/${thread}/status`, "utf8"))![1]!,
  );
}

// The threads of a process can be looked at one by one on Linux only.
test.runIf(process.platform === "linux")(
  "every thread of a server that is stopped stands still when that is said",
  async () => {
    await using broker = await startTestBroker();
    for (let round = 0; round < 50; round += 1) {
      await broker.kill("SIGSTOP");
      expect(new Set(threadStates(broker.pid))).toEqual(new Set(["T (stopped)"]));
      await broker.kill("SIGCONT");
    }
  },
);

test("a process that isn't there can't be sent a signal", async () => {
  await expect(sendSignal(2 ** 30, "SIGSTOP")).rejects.toThrow("ESRCH");
});
