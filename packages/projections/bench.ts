/**
 * Measures a projection's cost per event, in microseconds of one core: 400 generations of 1,000 deltas, each folded from beginning to end. A node folds
 * a generation once for all its readers of one protocol. Run `node packages/projections/bench.ts`; it prints the best of five runs. With
 * `node --expose-gc` it also prints the bytes that a state holds per event.
 */
import { asSeq, asUnixMs, type KnownEvent, parseGenerationId, parseWorkerId } from "@reprise/protocol";
import {
  agUiProjection,
  chatProjection,
  createUiStream,
  openaiResponses,
  type Projection,
  tanstackProjection,
} from "./src/index.ts";

const GENERATIONS = 400;
const DELTAS = 1_000;
const RUNS = 5;

const WORDS = ["The", " committee", " met", " on", " Tuesday", " to", " talk", ".\n", ' "We', " have"];
const generation = parseGenerationId(`gen_0_${"0".repeat(26)}`);
const run = { generation, model: "sim", createdAtMs: asUnixMs(1_795_000_000_000) };
const events: readonly KnownEvent[] = [
  { seq: asSeq(1), type: "generation.started", attempt: 1, worker: parseWorkerId("w"), model: "sim" },
  ...Array.from({ length: DELTAS }, (_, i): KnownEvent => {
    const text = WORDS[i % WORDS.length] ?? "";
    return { seq: asSeq(i + 2), type: "output.delta", text };
  }),
  {
    seq: asSeq(DELTAS + 2),
    type: "generation.completed",
    finish_reason: "stop",
    usage: { input_tokens: 3, output_tokens: DELTAS },
  },
];
const nativeBytes = events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);

measure("openai-chat", chatProjection({ includeUsage: true }));
measure("openai-responses", openaiResponses);
measure("ai-sdk", createUiStream());
measure("tanstack", tanstackProjection());
measure("ag-ui", agUiProjection());

function measure<State>(name: string, projection: Projection<State>): void {
  let best = Number.POSITIVE_INFINITY;
  let bytes = 0;
  for (let i = 0; i < RUNS; i++) {
    const startedAt = process.cpuUsage();
    for (let each = 0; each < GENERATIONS; each++) bytes = fold(projection).characters;
    const { user, system } = process.cpuUsage(startedAt);
    best = Math.min(best, (user + system) / (GENERATIONS * events.length));
  }
  const ratio = (bytes / nativeBytes).toFixed(2);
  process.stdout.write(
    `${name.padEnd(18)} ${best.toFixed(2)} µs per event, ${ratio} x the native bytes${heldBy(projection)}\n`,
  );
}

function heldBy<State>(projection: Projection<State>): string {
  const { gc } = globalThis;
  if (!gc) return "";
  gc();
  const before = process.memoryUsage().heapUsed;
  const states = Array.from({ length: GENERATIONS }, () => fold(projection).state);
  gc();
  const bytes = (process.memoryUsage().heapUsed - before) / (states.length * events.length);
  return `, ${bytes.toFixed(0)} bytes held per event`;
}

/** @returns the last state, and how many characters the frames have */
function fold<State>(projection: Projection<State>): { state: State; characters: number } {
  let state = projection.begin(run);
  let characters = 0;
  for (const event of events) {
    const next = projection.project(state, event);
    state = next.state;
    for (const { data } of next.frames) characters += data.length;
  }
  return { state, characters };
}
