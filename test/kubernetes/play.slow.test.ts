import { createSseDecoder, decodeEvent } from "@reprise/protocol";
import { expect, test } from "vitest";
import { readmeBlock } from "./testing/cluster.ts";
import { playProduction } from "./testing/play-production.ts";

function eventsOf(printed: string) {
  return createSseDecoder()
    .push(Buffer.from(printed))
    .filter(({ data }) => data !== "")
    .map(({ data }) => decodeEvent(data));
}

// Other systems have one address of this machine, where each pod needs its own.
test.runIf(process.platform === "linux")(
  "the pods of the overlay production, as processes, stream tokens by the commands of the README",
  async () => {
    await using platform = await playProduction();
    const printed = await platform.cluster.run(await readmeBlock("curl -N"));
    const events = eventsOf(printed.slice(printed.indexOf("retry:")));
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["generation.started", "output.delta", "generation.completed"]),
    );

    for (const service of ["delivery", "inference-worker"])
      expect(await platform.pod(service).get("/metrics")).toContain(
        `reprise_dependency_up{service="${service}",dependency="redis"} 1`,
      );
    await expect
      .poll(() => platform.pod("witness").get("/metrics"))
      .toMatch(/reprise_witness_requests_total\{result="cosigned"\} [1-9]/);

    for (const service of ["delivery", "inference-worker", "moderation", "audit-log", "analytics", "witness"])
      expect({ service, code: await platform.pod(service).stop() }).toEqual({ service, code: 0 });

    // A server without clients has nothing to wait for in lame duck mode.
    const nats = platform.pod("nats-1");
    expect(await nats.preStop()).toBe(0);
    expect(await nats.exited).toBe(0);
  },
);
