import { run } from "../../pack/run.ts";
import type { Outcome } from "../step.ts";

/** Where the platform is that programs read from. */
export interface Platform {
  readonly url: string;
  readonly apiKey: string;
}

/** One way to run `main.mjs`, `main.cjs` or what was made of them. */
export interface Runtime {
  readonly name: string;
  readonly command: readonly [file: string, ...args: string[]];
}

/** What `readGenerations` returns. */
interface Read {
  readonly text: string;
  readonly streamed: string;
  readonly status: string;
  readonly cancelled: string;
}

/** Runs the program in each runtime and says where it did not read what the platform has. */
export async function checkRuntimes(
  folder: string,
  platform: Platform,
  runtimes: readonly Runtime[],
): Promise<Outcome> {
  const problems: string[] = [];
  const passed: string[] = [];
  for (const { name, command } of runtimes) {
    const [file, ...args] = command;
    const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1" };
    try {
      const { stdout } = await run(file, [...args, platform.url, platform.apiKey], { cwd: folder, env });
      const found = findReadingProblems(stdout);
      problems.push(...found.map((problem) => `${name}: ${problem}`));
      if (found.length === 0) passed.push(name);
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
    }
  }
  return { problems, report: [`streamed, resumed and cancelled: ${passed.join(", ")}`] };
}

/** @param output what a program wrote, or the worker answered */
export function findReadingProblems(output: string): string[] {
  const { text, streamed, status, cancelled } = JSON.parse(output) as Read;
  const problems: string[] = [];
  if (text === "" || streamed !== text) problems.push(`streamed ${streamed}, and the platform has ${text}`);
  if (status !== "completed") problems.push(`the generation is ${status}, not completed`);
  if (cancelled !== "cancelled") problems.push(`the cancelled generation is ${cancelled}`);
  return problems;
}
