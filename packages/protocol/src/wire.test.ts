import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

describe("what a module brings into a bundle", () => {
  it("is nothing but the protocol itself for clients", () => {
    expect([...packagesBehind("./wire.ts")]).toEqual([]);
  });

  it("is zod alone for services, so that it runs wherever JavaScript does", () => {
    expect([...packagesBehind("./index.ts")]).toEqual(["zod"]);
  });
});

/** The packages that a module of this package needs at run time, itself or through others; `import type` needs none. */
function packagesBehind(entry: string): Set<string> {
  const packages = new Set<string>();
  const seen = new Set([new URL(entry, import.meta.url).href]);
  for (const module of seen) {
    const source = readFileSync(new URL(module), "utf8");
    for (const [, specifier] of source.matchAll(/^(?:import|export) (?!type )[^;]*?from "([^"]+)";/gm)) {
      if (specifier!.startsWith(".")) seen.add(new URL(specifier!, module).href);
      else packages.add(specifier!);
    }
  }
  return packages;
}
