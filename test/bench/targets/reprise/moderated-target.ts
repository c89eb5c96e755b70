import { type GenerationRef, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { startChild } from "../../children/child.ts";
import type { MeasuredProcess } from "../../measure/process-usage.ts";
import { createTarget, type RunningTarget } from "../target.ts";
import { SHARDS, startBenchBroker } from "./broker.ts";
import { startBenchDelivery } from "./delivery.ts";
import type { ModerationLoad } from "./moderation-load.ts";
import { type RepriseSettings, startService } from "./service-child.ts";

export interface ModeratedTarget extends RunningTarget {
  readonly natsUrl: string;
  /** The generations that `openStreams` has begun. */
  readonly refs: readonly GenerationRef[];
}

/** Reprise as `startReprise` starts it, but with text that rules can read, and moderation's own main.ts beside it unless `off`. */
export async function startModerated(
  { natsServer, profileDir }: RepriseSettings,
  { use, text }: ModerationLoad,
): Promise<ModeratedTarget> {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await startBenchBroker(natsServer));
  const { child, url, tenant, apiKey } = stack.use(await startBenchDelivery(broker, profileDir));
  const processes: MeasuredProcess[] = [
    { role: "nats-server", pid: broker.server.pid },
    { role: "delivery", pid: child.pid },
  ];
  if (use !== "off") {
    const moderation = await startService({
      name: "moderation",
      readyMessage: "judging",
      env: { REPRISE_NATS_URL: broker.urlFor("moderation") },
      profileDir,
    });
    stack.use(moderation.child);
    processes.push({ role: "moderation", pid: moderation.child.pid });
  }
  const worker = stack.use(
    await startChild({
      name: "worker",
      script: new URL("./moderated-worker.ts", import.meta.url),
      args: [tenant, String(SHARDS), use, text],
      env: { REPRISE_NATS_URL: broker.urlFor("inference-worker") },
    }),
  );
  const port = Number(new URL(url).port);
  const headers = { authorization: `Bearer ${apiKey}` };
  const refs: GenerationRef[] = [];
  const target = createTarget({
    processes: [{ role: "worker", pid: worker.pid }, ...processes],
    deliveryRole: "delivery",
    producer: worker,
    probed: child,
    readerOf(id) {
      const countedAs = refs.push({ tenant: parseTenantId(tenant), generation: parseGenerationId(id) }) - 1;
      return { transport: "sse", port, path: `/v1/generations/${id}/events`, headers, countedAs };
    },
    stack: stack.move(),
  });
  return { ...target, natsUrl: broker.urlFor("admin"), refs };
}
