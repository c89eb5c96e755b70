import { openSseReader, type SeededRandom } from "@reprise/testkit";
import { startLoad } from "../../trial/load.ts";
import { cursorsOf } from "../../trial/log-watch.ts";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest } from "../worker/takeover.ts";

const READS = 150;
const AT_ONCE = 10;
const SECOND = '"type":"generation.started","attempt":2';
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
    "reads with cursors that are stale, ahead, of another attempt, of other logs or garbage, over logs with a handover in them: exactly what follows, or a typed error and nothing",
  proof: "a cursor is refused and another one honoured, of logs of which at least one has a handover",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { generations, readers } = await startLoad(trial, { generations: 6 }, 20);
    await findBusiest(world, readers).busiest.stop();
    await trial.ended();
    const logs = await Promise.all(
      generations.map(async (generation) => [generation, await world.readLog(generation.ref)] as const),
    );
    const attempts = logs.flatMap(([, payloads]) => cursorsOf(payloads).map(attemptOf));
    const answers = { honoured: 0, refused: 0 };
    const read = async () => {
      const [generation, payloads] = random.pick(logs);
      const isHonoured = await readAt(trial, generation, payloads, drawCursor(random, payloads, attempts));
      answers[isHonoured ? "honoured" : "refused"]++;
    };
    const readSome = async () => {
      for (let times = 0; times < READS / AT_ONCE; times++) await read();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, readSome));
    const isHandedOver = logs.some(([, payloads]) => payloads.some((payload) => payload.includes(SECOND)));
    if (isHandedOver) trial.hit(Math.min(answers.honoured, answers.refused));
  },
};

/** Asks once, by header or parameter, and compares with what the log says should come. @returns whether that were events */
async function readAt(
  trial: Trial,
  generation: TestedGeneration,
  payloads: readonly string[],
  cursor: string,
): Promise<boolean> {
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
  if ("code" in expected) {
    if (reader.status !== expected.status || !reader.bytes.includes(`"${expected.code}"`))
      blame(`should be ${expected.code}`);
  } else if (reader.status !== (expected.length === 0 ? 204 : 200)) blame("should be answered");
  else if (shown.join("\n") !== expected.join("\n"))
    blame(`${shown.length} events instead of the ${expected.length} that follow`);
  return !("code" in expected) && expected.length > 0;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
}

/**
 * Only what the log itself has issued is a cursor. One of an attempt of the log that has not written the event is what a reader has whose
 * event was lost.
 */
function expectAfter(payloads: readonly string[], cursor: string): readonly string[] | Refusal {
  const cursors = cursorsOf(payloads);
  const seq = cursors.indexOf(cursor);
  if (seq !== -1) return payloads.slice(seq + 1);
  const isOwn = cursors.some((own) => own.includes(".") && attemptOf(own) === attemptOf(cursor));
  return isOwn ? { status: 410, code: "events_lost" } : { status: 400, code: "cursor_invalid" };
}

/** Reads the attempt of a cursor. */
function attemptOf(cursor: string): string {
  return /^.*(?=-\d+$)/.exec(cursor)?.[0] ?? "";
}

/** Of the log's own attempts, of those of others, of none, or none at all. */
function drawCursor(random: SeededRandom, payloads: readonly string[], others: readonly string[]): string {
  if (random.chance(0.3)) return random.pick(GARBAGE);
  const attempts = random.chance(0.7) ? cursorsOf(payloads).map(attemptOf) : ["0", "1", "2", "3", ...others];
  return `${random.pick([...new Set(attempts)])}-${random.integer(0, payloads.length + 2)}`;
}
