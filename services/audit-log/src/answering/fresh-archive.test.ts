import { describe, expect, it } from "vitest";
import { FreshArchive } from "./fresh-archive.ts";

function create() {
  const clock = { ms: 0 };
  const looks: (() => void)[] = [];
  const archive = { refresh: () => new Promise<void>((resolve) => looks.push(resolve)) };
  return { clock, looks, fresh: new FreshArchive({ archive, maxAgeMs: 1_000, now: () => clock.ms }) };
}

describe("an archive that others write to", () => {
  it("is refreshed when what is known of it is too old", async () => {
    const { clock, looks, fresh } = create();
    for (const [at, count] of [
      [0, 1],
      [1_000, 1],
      [1_001, 2],
    ] as const) {
      clock.ms = at;
      const known = fresh.ensureFresh();
      await Promise.resolve();
      looks.at(-1)!();
      await known;
      expect(looks).toHaveLength(count);
    }
  });

  it("is refreshed once for all concurrent calls, and once more: the first refresh may have missed the newest commit", async () => {
    const { looks, fresh } = create();
    const first = fresh.refresh();
    await Promise.resolve();
    const others = Promise.all([fresh.refresh(), fresh.refresh(), fresh.refresh()]);
    looks[0]!();
    await first;
    await new Promise(setImmediate);
    expect(looks).toHaveLength(2);
    looks[1]!();
    await others;
    expect(looks).toHaveLength(2);
  });

  it("counts its age from the beginning of the refresh", async () => {
    const { clock, looks, fresh } = create();
    const known = fresh.ensureFresh();
    await Promise.resolve();
    clock.ms = 1_500;
    looks[0]!();
    await known;
    void fresh.ensureFresh();
    await new Promise(setImmediate);
    expect(looks).toHaveLength(2);
  });
});
