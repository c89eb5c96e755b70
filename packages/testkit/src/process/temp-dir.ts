import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempDir extends AsyncDisposable {
  readonly path: string;
}

/** An empty folder of its own, removed with everything in it on disposal. `name` tells the folders in /tmp apart. */
export async function createTempDir(name = "test"): Promise<TempDir> {
  const path = await mkdtemp(join(tmpdir(), `reprise-${name}-`));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}
