import { mkdir, rename, symlink, writeFile } from "node:fs/promises";

/** A path that leads to a folder, or to a file in its place. */
export interface LedFolder {
  /** At no time is nothing there: a service that makes a folder where there is none would begin anew. */
  lead(to: "folder" | "file"): Promise<void>;
}

/** @param path of what is not there yet */
export async function createLedFolder(path: string): Promise<LedFolder> {
  await mkdir(`${path}.folder`, { recursive: true });
  await writeFile(`${path}.file`, "");
  const lead = async (to: "folder" | "file") => {
    await symlink(`${path}.${to}`, `${path}.next`);
    await rename(`${path}.next`, path);
  };
  await lead("folder");
  return { lead };
}
