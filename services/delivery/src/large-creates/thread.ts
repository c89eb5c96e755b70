import { connectBroker, createGenerationLog, createRuleSetStore } from "@reprise/log";
import { type Sent, serveThread } from "@reprise/service";
import { parseJsonBody } from "../bodies/parse-json-body.ts";
import { createFromBody } from "../domain/create-from-body.ts";
import type { LargeCreate, LargeCreated, LargeCreatesData } from "./messages.ts";

/* The thread that large requests to create a generation are worked on in: see `large-creates.ts`. */

serveThread(async ({ broker: options, retentionMs }: LargeCreatesData, onError) => {
  const broker = await connectBroker(options);
  const log = createGenerationLog(broker, onError);
  const ruleSets = createRuleSetStore(log.publish, retentionMs);

  async function create({ body, budgetMs, isStream, ...request }: LargeCreate): Promise<Sent> {
    const { joined, generation, first } = await createFromBody(
      { ...request, log: { ...log, budgetMs }, ruleSets, connection: broker.main, onError },
      parseJsonBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()),
    );
    // A copy has a buffer of its own, which goes over as it is.
    const payload = isStream ? Uint8Array.from(first.payload) : undefined;
    const result: LargeCreated = {
      joined,
      generation,
      first: payload && { payload, streamSeq: first.streamSeq },
    };
    return { result, transfer: payload ? [payload.buffer] : [] };
  }

  return {
    methods: { create },
    async [Symbol.asyncDispose]() {
      log.close();
      await broker.close();
    },
  };
});
