import { mkdir, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** Names of tenants and times are readable there. */
const OWNER_ONLY = 0o700;

/**
 * Makes folders that are there after a power loss. What another process has made may not be on the disk yet, so each folder below the root is
 * synced into the one above it once per process, its own or not.
 */
export class DurableFolders {
  /** Absolute. */
  readonly #root: string;
  readonly #made = new Map<string, Promise<void>>();

  constructor(root: string) {
    this.#root = root;
  }

  /** A folder at or below the root, and all between. */
  make(path: string): Promise<void> {
    let made = this.#made.get(path);
    if (!made) {
      made = this.#make(path);
      this.#made.set(path, made);
      made.catch(() => this.#made.delete(path));
    }
    return made;
  }

  /** To be called when folders were removed by others. */
  forget(): void {
    this.#made.clear();
  }

  async #make(path: string): Promise<void> {
    if (path === this.#root) return makeDurableFolder(path);
    const above = dirname(path);
    await this.make(above);
    await mkdir(path, { mode: OWNER_ONLY }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    await syncFolder(above);
  }
}

/** Makes a folder, with all above it that are missing, there after a power loss. One that is there already stays as it is. */
async function makeDurableFolder(folder: string): Promise<void> {
  const root = resolve(folder);
  const highest = await mkdir(root, { recursive: true, mode: OWNER_ONLY });
  if (highest === undefined) return;
  for (let path = root; path.startsWith(highest); path = dirname(path)) await syncFolder(dirname(path));
}

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}
