import { openSseReader, type OtlpReceiver, startOtlpReceiver } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const S = "s3cretS3CRET";
const CLIENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const CLIENT_SPAN = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

const inOrder = (rows: readonly unknown[][]) => rows.map((row) => row.join(" < ")).toSorted();

const named = (receiver: OtlpReceiver, name: string) => receiver.spans.filter((span) => span.name === name);

test("a create with its stream is one trace over delivery, worker and delivery, without any text of the request or the answer", async () => {
  await using receiver = await startOtlpReceiver();
  await using cluster = await startCluster();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "100",
    REPRISE_OPS_PORT: "0",
  };
  const [delivery, worker] = await Promise.all([cluster.startDelivery(env), cluster.startWorker(env)]);
  const key = cluster.keys["acme"] ?? "";
  const request = {
    model: "sim",
    input: S,
    end_user: `user-${S}`,
    metadata: { order: S },
    options: { text: `said ${S} at length`, tokens_per_second: 0 },
  };
  await using reader = await openSseReader(`${delivery.url}/v1/generations`, {
    method: "POST",
    body: request,
    headers: { authorization: `Bearer ${key}`, traceparent: CLIENT },
  });
  expect(await reader.ended).toBe("clean");
  const id = String(reader.headers["reprise-generation-id"]);
  await receiver.until((spans) => {
    const names = spans.map(({ name }) => name);
    return ["POST /v1/generations", "send jobs", "process jobs", "chat sim", "append end", "deliver"].every(
      (name) => names.includes(name),
    );
  });

  const [http] = named(receiver, "POST /v1/generations");
  const [send] = named(receiver, "send jobs");
  const [run] = named(receiver, "process jobs");
  expect(new Set(receiver.spans.map(({ traceId }) => traceId))).toEqual(new Set([CLIENT_SPAN.traceId]));
  const shape = receiver.spans.map(({ name, service, parentSpanId }) => [name, service, parentSpanId]);
  expect(inOrder(shape)).toEqual(
    inOrder([
      ["POST /v1/generations", "reprise-delivery", CLIENT_SPAN.spanId],
      ["send jobs", "reprise-delivery", http?.spanId],
      ["deliver", "reprise-delivery", http?.spanId],
      ["process jobs", "reprise-inference-worker", http?.spanId],
      ["chat sim", "reprise-inference-worker", run?.spanId],
      ["append end", "reprise-inference-worker", run?.spanId],
    ]),
  );
  expect(run?.links).toEqual([{ traceId: send?.traceId, spanId: send?.spanId }]);
  expect(named(receiver, "deliver")[0]?.links).toEqual([{ traceId: http?.traceId, spanId: http?.spanId }]);
  const line = () => delivery.lines.find(({ msg }) => msg === "request");
  await expect
    .poll(line)
    .toMatchObject({ trace_id: CLIENT_SPAN.traceId, span_id: http?.spanId, generation: id });

  const metrics = await (await fetch(`${delivery.opsUrl}/metrics`)).text();
  const { ops } = await worker.logged("taking jobs");
  const workerMetrics = await (await fetch(`${String(ops)}/metrics`)).text();
  const told = [receiver.received, metrics, workerMetrics, JSON.stringify([delivery.lines, worker.lines])];
  for (const text of told) {
    expect(text).not.toContain(S);
    expect(text).not.toContain(key);
  }
});
