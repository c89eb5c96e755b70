import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { FromJob, ToJob } from "./job.ts";
import type { RowResult } from "./row-result.ts";
import type { Task } from "./task.ts";

export interface JobsOptions {
  readonly jobs: number;
  readonly say: (text: string) => void;
  readonly onResult: (result: RowResult) => Promise<void>;
  /** No further task is given out once it is aborted. */
  readonly signal: AbortSignal;
}

const JOB = fileURLToPath(new URL("job.ts", import.meta.url));

/** Gives the tasks to processes of their own, each with its own worlds, and to each the next one when it is done with the last. */
export async function runJobs(tasks: readonly Task[], options: JobsOptions): Promise<void> {
  const { jobs, say, onResult, signal } = options;
  const queue = [...tasks];

  async function runJob(): Promise<void> {
    const job = fork(JOB, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const ended = Promise.withResolvers<void>();
    const tell = (message: ToJob) => job.send(message);
    const giveNext = (): void => {
      const task = signal.aborted ? undefined : queue.shift();
      tell(task ? { type: "task", task } : { type: "over" });
    };
    job.on("message", (message: FromJob) => {
      if (message.type === "said") return say(message.text);
      const noted = message.result ? onResult(message.result) : Promise.resolve();
      noted.then(giveNext, ended.reject);
    });
    job.on("exit", (code, killedBy) => {
      if (code === 0) ended.resolve();
      else ended.reject(new Error(`A job ended with ${code ?? killedBy}: its trials are missing.`));
    });
    giveNext();
    await ended.promise;
  }

  await Promise.all(Array.from({ length: Math.min(jobs, tasks.length) }, runJob));
}
