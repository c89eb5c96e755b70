import { createGenerationLog } from "@reprise/stream";
import { parseTenantId } from "@reprise/protocol";
import { serveParent } from "../../children/serve-parent.ts";
import { nowMicros } from "../../measure/clock.ts";
import { encodeToken } from "../../measure/token.ts";
import { connectBenchWorker, openGeneration } from "./open-generation.ts";

const OPEN_AT_ONCE = 100;

const [shards] = process.argv.slice(2) as [string];
const tenant = parseTenantId("demo");
const broker = await connectBenchWorker("bench-append-worker");
const log = createGenerationLog(broker);
const text = encodeToken(nowMicros());
let stored = 0;

/** A generation that appends an event whenever its last one is stored. */
async function run(): Promise<void> {
  let appendNext = () => {};
  const onStored = () => {
    stored++;
    appendNext();
  };
  const { appender } = await openGeneration({ broker, log, tenant, shards: Number(shards), onStored });
  appendNext = () => appender.append({ type: "output.delta", text });
  appendNext();
}

serveParent({
  async start({ generations }: { generations: number }): Promise<void> {
    for (let begun = 0; begun < generations; begun += OPEN_AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(OPEN_AT_ONCE, generations - begun) }, run));
    }
  },
  stored: () => stored,
});
