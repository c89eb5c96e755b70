import { STREAM_START } from "@reprise/protocol";
import { openSseReader, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openGrpc } from "./rpc/rpc.fixture.ts";
import { SOCKET_PROTOCOL, SOCKET_TOKEN_PROTOCOL } from "./sockets/socket-frames.ts";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  KEYS,
  type Node,
  openPlatform,
  started,
} from "./testing/platform.ts";

interface Read {
  readonly node: Node;
  readonly id: string;
  /** Undefined from the beginning. */
  readonly after: string | undefined;
  /** The reader leaves after so many events, which are there or come. */
  readonly events: number;
}

/** An event's JSON, and the cursor that continues after it if the transport tells that of each. */
type Shown = readonly [json: string, cursor: string];

/** One reading over each transport. */
const TRANSPORTS: Readonly<Record<string, (read: Read) => Promise<readonly Shown[]>>> = {
  async sse({ node, id, after, events }) {
    await using reader = await openSseReader(`${node.url}/v1/generations/${id}/events`, {
      headers: authorization(),
      lastEventId: after,
    });
    const shown: Shown[] = [];
    for await (const { data, id: cursor } of reader) if (shown.push([data, cursor]) === events) break;
    return shown;
  },
  async page({ node, id, after, events }) {
    const query = new URLSearchParams({ wait: "30000", limit: `${events}`, ...(after && { after }) });
    const headers = { accept: "application/json" };
    const { text, json } = await call(`${node.url}/v1/generations/${id}/events?${query}`, { headers });
    const { cursor } = json as { cursor: string };
    return listIn(text, "seq").map((event) => [event, cursor]);
  },
  async durableStream({ node, id, after = "-1" }) {
    const query = new URLSearchParams({ offset: after, live: "long-poll" });
    const { text, headers } = await call(`${node.url}/v1/streams/${id}?${query}`);
    return listIn(text, "seq").map((event) => [event, headers.get("stream-next-offset")!]);
  },
  async webSocket({ node, id, after, events }) {
    const protocols = [SOCKET_PROTOCOL, `${SOCKET_TOKEN_PROTOCOL}${KEYS.acme}`];
    const socket = new WebSocket(`${node.url.replace("http", "ws")}/v1/ws`, protocols);
    const { promise, resolve } = Promise.withResolvers<void>();
    const shown: Shown[] = [];
    socket.addEventListener("open", () =>
      socket.send(JSON.stringify({ op: "follow", id: 1, generation: id, ...(after && { after }) })),
    );
    socket.addEventListener("message", ({ data }) => {
      const { op } = JSON.parse(String(data)) as { op: string };
      for (const item of op === "events" ? listIn(String(data), "cursor") : []) {
        const [, cursor, event] = /^\{"cursor":"(.*?)","event":(.*)\}$/s.exec(item)!;
        shown.push([event!, cursor!]);
      }
      if (shown.length >= events || op === "end") resolve();
    });
    await promise;
    socket.close();
    return shown.slice(0, events);
  },
  async grpc({ node, id, after = "", events }) {
    using client = openGrpc(`127.0.0.1:${node.delivery.grpcPort}`);
    const { call: stream, events: got, ended } = client.read({ generation: id, after });
    const { promise, resolve } = Promise.withResolvers<void>();
    stream.on("data", () => void (got.length >= events && resolve()));
    await Promise.race([promise, ended]);
    stream.cancel();
    return got.slice(0, events).map(({ eventJson, cursor }) => [eventJson, cursor]);
  },
};

/** The items of the one list in a JSON text, byte for byte. @param field that each item begins with */
function listIn(text: string, field: string): string[] {
  const list = text.slice(text.indexOf("[") + 1, text.lastIndexOf("]"));
  return list === "" ? [] : list.split(new RegExp(`,(?=\\{"${field}":)`));
}

const SWITCHES = 200;
const MOST_AT_ONCE = 3;

test("one cursor continues a generation over every transport, at every node: the same bytes after 200 switches", async () => {
  await withSeed(20_261_129, async (random) => {
    await using platform = await openPlatform({ grpcPort: 0 });
    const nodes = [platform.node, await platform.addNode({ grpcPort: 0 })];
    const { ref, worker } = await createGeneration(platform);
    const id = ref.generation;
    await append(worker, started());
    let stored = 1;
    let cursor: string | undefined;
    const read: string[] = [];
    const readBy = async (transport: string, events: number) => {
      const shown = await TRANSPORTS[transport]!({ node: random.pick(nodes), id, after: cursor, events });
      expect(shown.length, transport).toBeGreaterThan(0);
      read.push(...shown.map(([json]) => json));
      cursor = shown.at(-1)![1];
    };
    const transports = Object.keys(TRANSPORTS);
    for (let i = 0; i < SWITCHES; i++) {
      const reading = readBy(transports[i % transports.length]!, random.integer(1, MOST_AT_ONCE));
      for (
        let most = random.integer(1, MOST_AT_ONCE);
        most > 0 || stored < read.length + MOST_AT_ONCE;
        most--
      )
        await append(worker, delta(`wört-${stored++} "\u2028"\n`));
      await reading;
    }
    await append(worker, completed());
    stored++;
    while (read.length < stored) await readBy(random.pick(transports), MOST_AT_ONCE);
    const [, ...log] = await platform.log.reader.readTail(ref, STREAM_START);
    expect(read).toEqual(log.map(({ payload }) => Buffer.from(payload).toString()));
  });
});
