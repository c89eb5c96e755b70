import { PROTOCOLS, type ProtocolName } from "../targets/protocols.ts";
import { startReprise } from "../targets/reprise/target.ts";
import { alternatingRounds } from "./alternating-rounds.ts";
import { measureStream, type StreamMeasurement, type StreamShape } from "./measure-stream.ts";
import type { RunContext } from "./run-context.ts";
import { startRun } from "./start-run.ts";

export interface ProtocolRow extends StreamMeasurement {
  readonly protocol: ProtocolName;
}

export interface ProtocolsResult {
  readonly scenario: "PROTOCOLS";
  readonly shape: StreamShape;
  /** Each protocol's best round, the one with the lowest p99, as in S1. */
  readonly rows: readonly ProtocolRow[];
  readonly rounds: readonly (readonly ProtocolRow[])[];
}

/** PROTOCOLS: S1's load, read natively and by each of the other protocols. Reprise only. */
export async function runProtocols(context: RunContext): Promise<ProtocolsResult> {
  const { quick, say, settings, signal } = context;
  const shape = {
    streams: 100,
    tokensPerSecond: 50,
    readersPerStream: 1,
    warmUpSeconds: quick ? 1 : 2,
    seconds: quick ? 2 : 4,
  };
  const names = Object.keys(PROTOCOLS) as ProtocolName[];
  const measured = await alternatingRounds(names, quick ? 1 : 3, async (protocol, round) => {
    say(`PROTOCOLS ${protocol}, round ${round}`);
    await using run = await startRun(signal, () => startReprise(settings, { protocol }));
    return { protocol, ...(await measureStream(run.target, run.load, shape, signal)) };
  });
  return { scenario: "PROTOCOLS", shape, ...measured };
}
