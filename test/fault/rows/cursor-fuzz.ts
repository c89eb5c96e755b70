import { decodeEvent, encodeCursor, type KnownEvent, START } from "@reprise/protocol";
import { openSseReader, type SeededRandom } from "@reprise/testkit";
import { startLoad } from "../trial/load.ts";
import type { TestedGeneration } from "../trial/tested-generation.ts";
import type { Trial } from "../trial/trial.ts";
import type { FaultRow } from "./row.ts";

const READS = 150;
const AT_ONCE = 10;
const GARBAGE = [
  "-",
  "1-",
  "-1",
  "01-1",
  "1-01",
  "1_1",
  "a-b",
  "1-1-1",
  "null",
  "*",
  ">",
  "1-1\u{1f680}",
  "9".repeat(30),
];

export const cursorFuzz: FaultRow = {
  name: "cursor-fuzz",
  about:
    "reads with cursors that are stale, ahead, of another attempt, of other logs or garbage, over logs with a handover in them: exactly what follows, or 400 and nothing",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { generations } = await startLoad(trial, { generations: 6, tokens: 60 });
    await random.pick(world.workers).stop();
    await trial.ended();
    const logs = await Promise.all(
      generations.map(async (generation) => [generation, await world.readLog(generation.ref)] as const),
    );
    const read = async () => {
      const [generation, payloads] = random.pick(logs);
      await readAt(trial, generation, payloads, drawCursor(random, payloads.length));
    };
    const readSome = async () => {
      for (let times = 0; times < READS / AT_ONCE; times++) await read();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, readSome));
  },
};

/** Asks once, by header or parameter, and compares with what the log says should come. */
async function readAt(
  trial: Trial,
  generation: TestedGeneration,
  payloads: readonly string[],
  cursor: string,
): Promise<void> {
  const { random, world } = trial;
  const { url } = random.pick(world.deliveries);
  const expected = expectAfter(payloads, cursor);
  const isHeader = random.chance(0.5) && /^[\x21-\x7e]+$/.test(cursor);
  await using reader = await openSseReader(`${url}/v1/generations/${generation.id}/events`, {
    headers: { authorization: `Bearer ${generation.tenant.key}` },
    ...(isHeader ? { lastEventId: cursor } : { after: cursor }),
  });
  await reader.ended;
  const blame = (what: string) =>
    trial.blame(
      "unknown",
      `${generation.id} after ${JSON.stringify(cursor)}: ${what}, status ${reader.status}`,
    );
  const shown = reader.frames.map(({ data }) => data);
  if (expected === "refused") {
    if (reader.status !== 400 || !reader.bytes.includes('"cursor_invalid"')) blame("should be refused");
  } else if (reader.status !== (expected.length === 0 ? 204 : 200)) blame("should be answered");
  else if (shown.join("\n") !== expected.join("\n"))
    blame(`${shown.length} events instead of the ${expected.length} that follow`);
}

/** Only what the log itself could have issued is a cursor: the attempt that wrote an event, and its seq. */
function expectAfter(payloads: readonly string[], cursor: string): readonly string[] | "refused" {
  let attempt = START.attempt;
  for (const [seq, payload] of payloads.entries()) {
    const event = decodeEvent(payload) as KnownEvent;
    if (event.type === "generation.started") attempt = event.attempt;
    if (encodeCursor({ attempt, seq }) === cursor) return payloads.slice(seq + 1);
  }
  return "refused";
}

function drawCursor(random: SeededRandom, length: number): string {
  if (random.chance(0.3)) return random.pick(GARBAGE);
  return encodeCursor({ attempt: random.integer(0, 3), seq: random.integer(0, length + 2) });
}
