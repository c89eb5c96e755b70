import { setTimeout as delay } from "node:timers/promises";
import type { LogLine } from "@reprise/testkit";
import { hitRunning } from "../../trial/acked.ts";
import { startLoad } from "../../trial/load.ts";
import { reportSilences } from "../../trial/recovery.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";
import type { ServiceSlot } from "../../world/service-slot.ts";

const GONE = "the broker takes no appends";
const BACK = "the broker takes appends again";
/** The access log: one line per request, during an outage as before. */
const ACCESS = "request";
/** Of each process, from the outage until its errors are told. */
const MOST_FURTHER_LINES = 3;
/** Errors are gathered for 10 s before they are told. */
const GATHERED_MS = 12_000;

function outage(name: string, ms: number): FaultRow {
  return {
    name,
    about: `nats-server is stopped for ${ms / 1_000} s: each process logs one line when it is gone and one when it is back, and at most ${MOST_FURTHER_LINES} others; until the end of each reader's longest silence`,
    proof: "a generation ends after the broker continues",
    world: { moderations: 1, audits: 1 },
    shortTrials: ms > 60_000 ? 0 : 1,
    async run(trial) {
      const { world } = trial;
      const { server } = world.broker;
      const { generations, readers } = await startLoad(trial, { tokens: 400, tokensPerSecond: 40 });
      const seen = new Map(world.slots.map((slot) => [slot, slot.lines.length]));
      const stoppedAt = performance.now();
      await server.kill("SIGSTOP");
      await delay(ms);
      const wokenAt = performance.now();
      await server.kill("SIGCONT");
      await trial.ended();
      await Promise.all(world.slots.map((slot) => slot.logged(BACK, seen.get(slot))));
      await delay(GATHERED_MS);
      hitRunning(trial, generations, wokenAt);
      reportSilences(trial, readers, stoppedAt);
      for (const [slot, from] of seen) judgeLines(trial, slot, slot.lines.slice(from));
    },
  };
}

function judgeLines(trial: Trial, { name }: ServiceSlot, lines: readonly LogLine[]): void {
  const counted = (msg: string) => lines.filter((line) => line["msg"] === msg).length;
  const further = lines.filter(({ msg }) => msg !== GONE && msg !== BACK && msg !== ACCESS);
  const told = [counted(GONE), counted(BACK)];
  if (told.join() !== "1,1")
    trial.blame("lines", `${name} says ${told.join(" and ")} times that the broker is gone and back`);
  if (further.length > MOST_FURTHER_LINES)
    trial.blame(
      "lines",
      `${name} has ${further.length} further lines: ${further.map(({ msg }) => msg).join("; ")}`,
    );
}

export const brokerOutage = outage("broker-outage", 20_000);
/** As long as an upgrade of a server takes. */
export const brokerOutageLong = outage("broker-outage-long", 100_000);
