import { createClient, Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { credentials, status, type ServiceError } from "@grpc/grpc-js";
import { ERROR_CATALOGUE, parseTenantId, toHttpStatus, type ErrorCode } from "@reprise/protocol";
import { hashKey } from "@reprise/tenancy";
import { eventually } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  KEYS,
  openPlatform,
  REQUEST,
  started,
  toolCall,
} from "../testing/platform.ts";
import { openTlsPlatform } from "../testing/tls-platform.ts";
import { toCode } from "./errors.ts";
import { Generations, ProblemSchema } from "./generated/reprise/v1/reprise_pb.ts";
import { openGrpc, problemIn } from "./rpc.fixture.ts";

const requestJson = JSON.stringify(REQUEST);
const ACME = parseTenantId("acme");

async function openRpc(options: Parameters<typeof openPlatform>[0] = {}) {
  await using stack = new AsyncDisposableStack();
  const platform = stack.use(await openPlatform({ grpcPort: 0, ...options }));
  const grpc = stack.use(openGrpc(addressOf(platform.node)));
  const owned = stack.move();
  return { ...platform, grpc, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const addressOf = ({ delivery }: { delivery: { grpcPort: number | undefined } }) =>
  `127.0.0.1:${delivery.grpcPort}`;

describe("gRPC", () => {
  test("creates, joins, gets and cancels a generation", async () => {
    await using platform = await openRpc();
    const { grpc } = platform;
    const created = await grpc.call("create", { requestJson, idempotencyKey: "k" });
    expect(JSON.parse(created.generationJson)).toMatchObject({ object: "generation", id: created.id });
    expect(await grpc.call("create", { requestJson, idempotencyKey: "k" })).toMatchObject({ id: created.id });
    const generation = created.id;
    const { generationJson } = await grpc.call("get", { generation });
    expect(JSON.parse(generationJson)).toMatchObject({ id: generation, status: "queued" });
    const cancelled = await grpc.call("cancel", { generation, reason: "enough" });
    expect(JSON.parse(cancelled.generationJson)).toMatchObject({ status: "cancelled" });
    const { events, ended } = grpc.read({ generation });
    expect(await ended).toBeUndefined();
    expect(JSON.parse(events.at(-1)!.eventJson)).toMatchObject({ reason: "enough" });
  });

  test("answers a tool call", async () => {
    await using platform = await openRpc();
    const body = { ...REQUEST, tools: [{ name: "look_up" }] };
    const { ref, worker } = await createGeneration(platform, { body });
    await append(worker, started(), toolCall("c1"));
    const { generation } = ref;
    const resultJson = JSON.stringify({ call_id: "c1", output: 7 });
    const answered = await platform.grpc.call("answerTool", { generation, resultJson });
    expect(answered.id).toBe(generation);
    const again = platform.grpc.call("answerTool", {
      generation,
      resultJson: JSON.stringify({ call_id: "c1", output: 8 }),
    });
    await expect(again).rejects.toMatchObject({ code: status.FAILED_PRECONDITION });
  });

  test("reads to the end, and resumes after a cursor", async () => {
    await using platform = await openRpc();
    const { ref, worker } = await createGeneration(platform);
    const { generation } = ref;
    const live = platform.grpc.read({ generation });
    await append(worker, started(), delta("a"), delta("b"));
    await eventually(async () => expect(live.events).toHaveLength(3));
    await append(worker, completed());
    expect(await live.ended).toBeUndefined();
    expect(live.events.map(({ seq }) => seq)).toEqual([1n, 2n, 3n, 4n]);
    const resumed = platform.grpc.read({ generation, after: live.events[1]!.cursor });
    expect(await resumed.ended).toBeUndefined();
    expect(resumed.events).toEqual(live.events.slice(2));
  });

  test("delivers each event once to a client that stops reading for a while", async () => {
    await using platform = await openRpc();
    const { ref, worker } = await createGeneration(platform);
    const { call: reading, events, ended } = platform.grpc.read({ generation: ref.generation });
    await append(worker, started());
    await eventually(async () => expect(events).toHaveLength(1));
    reading.pause();
    const texts = Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(30_000, "x"));
    const fast = platform.grpc.read({ generation: ref.generation });
    await append(worker, ...texts.map((text) => delta(text)), completed());
    expect(await fast.ended).toBeUndefined();
    const metrics = await call(`${platform.node.opsUrl}/metrics`);
    const [, sent] = /^reprise_events_delivered_total (\d+)$/m.exec(metrics.text)!;
    expect(Number(sent) - fast.events.length).toBeLessThan(60);
    reading.resume();
    expect(await ended).toBeUndefined();
    expect(events.map(({ seq }) => Number(seq))).toEqual(Array.from({ length: 102 }, (_, i) => i + 1));
  });

  test("ends a read at its deadline or when its client leaves, and the generation continues", async () => {
    await using platform = await openRpc();
    const { ref, worker } = await createGeneration(platform);
    const { generation } = ref;
    const late = platform.grpc.read({ generation }, 300);
    expect(await late.ended).toMatchObject({ code: status.DEADLINE_EXCEEDED });
    const left = platform.grpc.read({ generation });
    const metrics = async () => (await call(`${platform.node.opsUrl}/metrics`)).text;
    await expect.poll(metrics).toContain("\nreprise_readers 1\n");
    left.call.cancel();
    expect(await left.ended).toMatchObject({ code: status.CANCELLED });
    await expect.poll(metrics).toContain("\nreprise_readers 0\n");
    await append(worker, started(), completed());
    const { generationJson } = await platform.grpc.call("get", { generation });
    expect(JSON.parse(generationJson)).toMatchObject({ status: "completed" });
  });

  test("breaks a read off with its cursor when the node drains, and refuses further calls", async () => {
    await using platform = await openRpc();
    const other = await platform.addNode({ grpcPort: 0 });
    using grpc = openGrpc(addressOf(other));
    const { ref, worker } = await createGeneration(platform);
    const { events, ended } = grpc.read({ generation: ref.generation });
    await append(worker, started());
    await eventually(async () => expect(events).toHaveLength(1));
    other.delivery.drain();
    const error = (await ended)!;
    expect(error.code).toBe(status.UNAVAILABLE);
    expect(error.metadata.get("reprise-cursor")).toEqual([events[0]!.cursor]);
    expect(problemIn(error)).toMatchObject({ code: "draining", retryable: true });
    await expect(grpc.call("create", { requestJson })).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  test("breaks a read off when its key is revoked", async () => {
    await using platform = await openRpc({ liveTenants: true });
    using grpc = openGrpc(addressOf(platform.node), { key: KEYS.acmeReader });
    const { ref, worker } = await createGeneration(platform);
    const { events, ended } = grpc.read({ generation: ref.generation });
    await append(worker, started());
    await eventually(async () => expect(events).toHaveLength(1));
    await platform.node.tenants!.store.update(ACME, (present) => ({
      ...present,
      keys: present.keys.filter(({ sha256 }) => sha256 !== hashKey(KEYS.acmeReader)),
    }));
    expect(await ended).toMatchObject({ code: status.UNAUTHENTICATED });
  });

  test("is served over TLS at the port of the API", async () => {
    await using tls = await openTlsPlatform();
    const node = await tls.addNode();
    const channel = credentials.createSsl(Buffer.from(tls.ca));
    using grpc = openGrpc(node.url.replace("https://", ""), { channel });
    const { id: generation } = await grpc.call("create", { requestJson });
    await grpc.call("cancel", { generation });
    const { events, ended } = grpc.read({ generation });
    expect(await ended).toBeUndefined();
    expect(JSON.parse(events.at(-1)!.eventJson)).toMatchObject({ type: "generation.cancelled" });
  });
});

describe("an error", () => {
  test("has the code of its status, and the API's error in its details", async () => {
    await using platform = await openRpc();
    const { grpc, node } = platform;
    const foreign = await createGeneration(platform, { key: KEYS.beta });
    const errorOf = (answer: Promise<unknown>) =>
      answer.then(
        () => expect.unreachable(),
        (error: ServiceError) => ({
          code: error.code,
          problem: problemIn(error),
        }),
      );
    const model = { requestJson: JSON.stringify({ ...REQUEST, model: "none" }) };
    expect(await errorOf(grpc.call("create", model))).toMatchObject({
      code: status.NOT_FOUND,
      problem: { code: "model_not_found", retryable: false },
    });
    expect(await errorOf(grpc.call("create", { requestJson: "{" }))).toMatchObject({
      code: status.INVALID_ARGUMENT,
      problem: { code: "invalid_json" },
    });
    const warm = { requestJson: JSON.stringify({ ...REQUEST, temperature: 9 }) };
    expect(await errorOf(grpc.call("create", warm))).toMatchObject({
      code: status.INVALID_ARGUMENT,
      problem: { code: "invalid_request", param: "temperature" },
    });
    expect(await errorOf(grpc.call("create", { requestJson, idempotencyKey: "a\nü" }))).toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
    for (const generation of ["..", foreign.ref.generation, "gen_0_00000000000000000000000000", ""])
      expect(await errorOf(grpc.call("get", { generation }))).toMatchObject({ code: status.NOT_FOUND });
    const wrongCursor = grpc.read({
      generation: (await createGeneration(platform)).ref.generation,
      after: "x",
    });
    expect(await wrongCursor.ended).toMatchObject({ code: status.INVALID_ARGUMENT });
    using reader = openGrpc(addressOf(node), { key: KEYS.acmeReader });
    expect(await errorOf(reader.call("create", { requestJson }))).toMatchObject({
      code: status.PERMISSION_DENIED,
      problem: { code: "forbidden" },
    });
    using stranger = openGrpc(addressOf(node), { key: "rk_unknown" });
    expect((await errorOf(stranger.call("create", { requestJson }))).code).toBe(status.UNAUTHENTICATED);
    const tooLarge = { requestJson: "x".repeat(1_100_000) };
    expect((await errorOf(grpc.call("create", tooLarge))).code).toBe(status.RESOURCE_EXHAUSTED);
  });

  test("has a gRPC code for each code of the API", () => {
    const statuses = (Object.keys(ERROR_CATALOGUE) as ErrorCode[]).map(toHttpStatus);
    const untold = statuses.filter((httpStatus) => toCode(httpStatus) === Code.Internal);
    expect(new Set(untold)).toEqual(new Set([500]));
  });
});

describe.each<[string, (baseUrl: string) => Transport, "url" | "grpc"]>([
  ["Connect over HTTP/1.1", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }), "url"],
  ["Connect over HTTP/2", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" }), "grpc"],
  ["gRPC-Web over HTTP/1.1", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }), "url"],
])("%s", (_name, transportTo, port) => {
  test("creates, reads, leaves, and tells an error with its details", async () => {
    await using platform = await openRpc();
    const baseUrl = port === "url" ? platform.node.url : `http://${addressOf(platform.node)}`;
    const client = createClient(Generations, transportTo(baseUrl));
    const options = { headers: authorization() };
    const { id } = await client.create({ requestJson }, options);
    expect(id).toMatch(/^gen_/);
    const { ref, worker } = await createGeneration(platform);
    await append(worker, started(), delta("a"), completed());
    const read = await Array.fromAsync(client.read({ generation: ref.generation }, options));
    expect(read.filter(({ eventJson }) => eventJson !== "").map(({ seq }) => seq)).toEqual([1n, 2n, 3n]);
    const leave = new AbortController();
    const reading = client.read({ generation: id }, { ...options, signal: leave.signal });
    const left = reading[Symbol.asyncIterator]();
    await left.next();
    leave.abort();
    await expect(left.next()).rejects.toMatchObject({ code: Code.Canceled });
    const metrics = async () => (await call(`${platform.node.opsUrl}/metrics`)).text;
    await expect.poll(metrics).toContain("\nreprise_readers 0\n");
    const error = await client
      .get({ generation: "gen_0_none" }, options)
      .catch((thrown: unknown) => ConnectError.from(thrown));
    expect(error).toMatchObject({ code: Code.NotFound });
    const [problem] = (error as ConnectError).findDetails(ProblemSchema);
    expect(problem).toMatchObject({ code: "generation_not_found" });
    const unknown = await client
      .get({ generation: id })
      .catch((thrown: unknown) => ConnectError.from(thrown));
    expect(unknown).toMatchObject({ code: Code.Unauthenticated });
  });
});
