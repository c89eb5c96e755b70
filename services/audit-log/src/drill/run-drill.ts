import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileStore, verifyArchive, type VerifyReport } from "@reprise/archive";
import { makeSmallArchive, type SmallArchive } from "./small-archive.ts";
import { TAMPERINGS } from "./tamperings.ts";

/** What became of one tampering, or of a copy that was left alone. */
export interface DrillResult {
  readonly name: string;
  readonly expected: VerifyReport["verdict"];
  readonly verdict: VerifyReport["verdict"];
  /** The first thing that verifying says of it. */
  readonly because: string;
}

/**
 * Tampers with copies of an archive in every way it knows, and verifies each. The archive is a small one that it makes in the system's
 * folder for temporary files, and removes.
 */
export async function runDrill(onResult: (result: DrillResult) => void): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "reprise-audit-drill-"));
  try {
    const whole = await makeSmallArchive(join(dir, "whole"));
    onResult(await judge("nothing is changed", "fine", whole, whole.dir));
    for (const [i, { name, apply }] of TAMPERINGS.entries()) {
      const copy = join(dir, `copy-${i}`);
      await cp(whole.dir, copy, { recursive: true });
      await apply(createFileStore(copy));
      onResult(await judge(name, "tampered", whole, copy));
      await rm(copy, { recursive: true });
    }
    const gap = await makeSmallArchive(join(dir, "gap"), { gapAt: 40 });
    onResult(await judge("messages had expired before they were archived", "gap", gap, gap.dir));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function judge(
  name: string,
  expected: DrillResult["expected"],
  { name: archive, vkey, witness, witnessed }: SmallArchive,
  dir: string,
): Promise<DrillResult> {
  const { verdict, findings } = await verifyArchive({
    store: createFileStore(dir),
    name: archive,
    vkeys: [vkey],
    witnesses: [witness],
    witnessed: [{ where: "witness", note: witnessed }],
  });
  const telling = findings.find(({ kind }) => kind === verdict);
  return { name, expected, verdict, because: telling ? `${telling.where}: ${telling.message}` : "" };
}
