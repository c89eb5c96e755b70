import { summarize } from "../measure/samples.ts";
import type { ReaderSpec } from "../targets/target.ts";
import { type RepriseTarget, startReprise } from "../targets/reprise/target.ts";
import { describeShape, measureStream, type StreamMeasurement, s1Shape } from "./measure-stream.ts";
import { bestOfRounds, isComplete, type RunContext, type ScenarioResult, startRun } from "./run.ts";

interface Create {
  readonly path: string;
  /** @param reader makes names of runs unique */
  readonly body: (reader: number) => object;
}

const messages = [{ role: "user", content: "bench" }];

/** Returns the body that the clients of AG-UI and TanStack AI send. */
const toRun = (reader: number) => ({
  threadId: `thread-${reader}`,
  runId: `run-${reader}`,
  state: {},
  messages: [{ id: "u1", ...messages[0] }],
  tools: [],
  context: [],
  forwardedProps: { model: "sim" },
});

/** Creates that are answered with a stream. */
const CREATES = {
  native: { path: "/v1/generations", body: () => ({ model: "sim", input: "bench" }) },
  chat: { path: "/v1/chat/completions", body: () => ({ model: "sim", stream: true, messages }) },
  responses: { path: "/v1/responses", body: () => ({ model: "sim", stream: true, input: "bench" }) },
  "ai-sdk": {
    path: "/v1/ai-sdk/chat",
    body: (reader) => ({
      id: `chat-${reader}`,
      messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "bench" }] }],
      trigger: "submit-message",
    }),
  },
  "ag-ui": { path: "/v1/ag-ui/agent", body: toRun },
  tanstack: { path: "/v1/tanstack/chat", body: toRun },
} as const satisfies Record<string, Create>;

type Protocol = keyof typeof CREATES;

const PROTOCOLS = Object.keys(CREATES) as Protocol[];

/** PROTOCOLS: S1's load, created and read natively and by each other protocol in turn. Reprise only. */
export async function runProtocols(context: RunContext): Promise<ScenarioResult> {
  const { quick, say, settings, signal } = context;
  const shape = s1Shape(context);
  const { rows, rounds } = await bestOfRounds(PROTOCOLS, quick ? 1 : 3, async (protocol, round) => {
    say(`PROTOCOLS ${protocol}, round ${round}`);
    await using run = await startRun(signal, () => startReprise(settings));
    const { load, target } = run;
    await target.adoptCreated();
    const specs = toReaders(target, protocol, shape.streams);
    const measurement = await measureStream(target, load, shape, signal, specs);
    return { protocol, cpuSumPerToken: sumOf(measurement), ...measurement };
  });
  const compared = rows.map((row, index) => {
    const pairs = rounds
      .map((round) => [round[index]!, round[0]!] as const)
      .filter((pair) => pair.every(isComplete));
    /** The median of the rounds, each against the native readers of the same round. */
    const timesNative = (figureOf: (measured: StreamMeasurement) => number) =>
      pairs.length > 0
        ? summarize(pairs.map(([measured, native]) => figureOf(measured) / figureOf(native))).p50
        : undefined;
    return {
      ...row,
      roundsCompared: `${pairs.length} of ${rounds.length}`,
      cpuTimesNative: timesNative(sumOf),
      p50TimesNative: timesNative(({ latencyMicros }) => latencyMicros.p50),
    };
  });
  return { scenario: "PROTOCOLS", what: describeShape(shape), rows: compared, rounds };
}

function sumOf({ cpuMicrosPerToken }: StreamMeasurement): number {
  return Object.values(cpuMicrosPerToken).reduce((sum, micros) => sum + micros, 0);
}

function toReaders({ delivery }: RepriseTarget, protocol: Protocol, count: number): ReaderSpec[] {
  const { path, body }: Create = CREATES[protocol];
  return Array.from({ length: count }, (_, reader) => ({
    transport: "sse",
    ...delivery,
    path,
    body: JSON.stringify(body(reader)),
  }));
}
