import { run } from "../../pack/run.ts";

/** Packages whose declarations need more than a strict project of browser types has: `ai` needs `@types/node` and `@types/json-schema`. */
const FOREIGN = /^node_modules\/(ai|@ai-sdk\/[\w-]+|json-schema)\//;

/** Type-checks files in a folder. @returns what the compiler says, but for what it says of declarations of others */
export async function compile(folder: string, tsc: string, args: readonly string[]): Promise<string[]> {
  try {
    await run(process.execPath, [tsc, ...args], { cwd: folder });
    return [];
  } catch (error) {
    const { message } = error as Error;
    return findOwnErrors(message.slice(message.indexOf("\n") + 1));
  }
}

/** An error goes on in the lines that are set in. */
export function findOwnErrors(output: string): string[] {
  const errors = output.split(/\n(?!\s)/);
  return errors.filter((error) => !FOREIGN.test(error));
}
