import { runTrial } from "../../trial/run-trial.ts";
import { startFaultWorld } from "../../world/fault-world.ts";
import { DrillClient } from "../restore/drill-client.ts";
import { judgeUsage } from "../restore/judge-platform.ts";
import { checkOutRevision, findCommit } from "./revision.ts";
import { type Step, stepRow, worldOf } from "./upgrade-row.ts";

export interface UpgradeDrillOptions {
  /** What the earlier version is of. */
  readonly revision: string;
  readonly steps: readonly Step[];
  readonly seed: number;
}

/**
 * Runs the services of an earlier version beside these, in both orders, and rolls back, while generations are created and read. In the end usage, which
 * analytics of both versions has measured in turn, has each of them once.
 * @param say told of each step
 * @returns what was found wrong
 */
export async function drillUpgrade(
  { revision, steps, seed }: UpgradeDrillOptions,
  say: (line: string) => void,
): Promise<readonly string[]> {
  const commit = await findCommit(revision);
  const old = await checkOutRevision(commit);
  say(`the earlier version is ${commit.slice(0, 8)}`);
  await using world = await startFaultWorld(worldOf(old));
  say(`${world.slots.length} services of it run`);
  const problems: string[] = [];
  const generations = new Map<string, number>();
  for (const [i, step] of steps.entries()) {
    const result = await runTrial(world, stepRow(step, old), seed + i);
    const { violations, complaints, stored, shown, logs, recoveriesMs, spoilt } = result;
    const longest = Math.round(Math.max(0, ...recoveriesMs));
    say(
      `${step.title}: ${logs.length} generations, ${stored} events stored, ${shown} shown, ${violations.length} violations; readers were back within ${longest} ms`,
    );
    for (const { generation } of logs) {
      const { tenant } = generation.ref;
      generations.set(tenant, (generations.get(tenant) ?? 0) + 1);
    }
    problems.push(...violations.map(({ kind, what }) => `${step.title}: ${kind}: ${what}`));
    if (violations.length > 0) problems.push(...complaints);
    if (spoilt) return problems;
  }
  for (const tenant of world.tenants) {
    const count = generations.get(tenant.id) ?? 0;
    if (count === 0) continue;
    problems.push(...(await judgeUsage(new DrillClient(world.deliveries[0]!.url, tenant), count)));
    say(`usage of ${tenant.id} has each of ${count} generations once`);
  }
  return problems;
}
