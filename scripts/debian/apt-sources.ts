import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AptSourceFile } from "./debian-sources.ts";

const ETC_APT = "/etc/apt";

/** Reads the machine's package sources: `sources.list`, and what lies in `sources.list.d`. Empty where there is no apt. */
export async function readAptSources(): Promise<AptSourceFile[]> {
  const parts = await readdir(join(ETC_APT, "sources.list.d")).catch(() => []);
  const paths = ["sources.list", ...parts.map((part) => join("sources.list.d", part))];
  const files = await Promise.all(
    paths.filter((path) => /\.(list|sources)$/.test(path)).map((path) => readSource(join(ETC_APT, path))),
  );
  return files.filter((file) => file !== undefined);
}

/** Undefined where the file is missing or not for this user to read. */
async function readSource(path: string): Promise<AptSourceFile | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : { format: path.endsWith(".list") ? "lines" : "deb822", text };
}
