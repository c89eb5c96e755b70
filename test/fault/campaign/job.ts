import { formatTrial } from "./format-table.ts";
import type { RowResult } from "./row-result.ts";
import { runTask, type Task } from "./task.ts";
import { WorldPool } from "./run-row.ts";

/* One of the processes among which `--jobs` divides a campaign: takes tasks from its parent until that has none left. */

export type ToJob = { readonly type: "task"; readonly task: Task } | { readonly type: "over" };
export type FromJob =
  | { readonly type: "said"; readonly text: string }
  | { readonly type: "done"; readonly result: RowResult | undefined };

const abort = new AbortController();
const worlds = new WorldPool();

// A terminal's Ctrl-C reaches every process: the parent decides, and gives no further task.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => abort.abort());
// Without its parent the result would have no reader. Its processes end with it.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.on("message", (message: ToJob) => void take(message));

async function take(message: ToJob): Promise<void> {
  if (message.type === "over") {
    await worlds.discard();
    process.removeAllListeners("disconnect");
    process.disconnect();
    return;
  }
  const { task } = message;
  const result = await runTask(task, {
    worlds,
    onTrial: (trial) => tell({ type: "said", text: formatTrial(task.row, trial) }),
    signal: abort.signal,
  });
  tell({ type: "done", result });
}

function tell(message: FromJob): void {
  process.send!(message);
}
