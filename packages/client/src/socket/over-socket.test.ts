import { expect, test, vi } from "vitest";
import type { FetchInit } from "../http/http.ts";
import { overSocket } from "./over-socket.ts";

const URL_BASE = "http://127.0.0.1:1";
const EVENTS = `${URL_BASE}/v1/generations/gen_1/events`;

/** A server's side of a WebSocket, as the test plays it. */
class FakeSocket extends EventTarget {
  static readonly opened: FakeSocket[] = [];
  readonly OPEN = 1;
  readyState = 0;
  readonly sent: { op: string; id: number }[] = [];

  constructor() {
    super();
    FakeSocket.opened.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as { op: string; id: number });
  }

  says(frame: object): void {
    this.readyState = 1;
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(frame) }));
  }

  close(): void {
    this.readyState = 3;
  }
}

function open() {
  FakeSocket.opened.length = 0;
  const other = vi.fn<() => never>();
  const fetch = overSocket({
    url: URL_BASE,
    fetch: other,
    WebSocket: FakeSocket as unknown as typeof WebSocket,
  });
  const follow = (signal = new AbortController().signal) => {
    const headers = { authorization: "Bearer t", accept: "text/event-stream" };
    const init: FetchInit = { method: "GET", headers, signal, cache: "no-store" };
    return fetch(EVENTS, init);
  };
  return { follow, other };
}

/** Begins a stream on a connection that has just been opened. */
async function begin({ follow }: ReturnType<typeof open>, socket: () => FakeSocket) {
  const answered = follow();
  socket().says({ op: "ready" });
  await vi.waitUntil(() => socket().sent.some(({ op }) => op === "follow"));
  const { id } = socket().sent.find(({ op }) => op === "follow")!;
  socket().says({ op: "open", id, status: 200, generation: "gen_1" });
  const reader = (await answered).body!.getReader();
  const text = async () => new TextDecoder().decode((await reader.read()).value);
  return { id, text };
}

const [first, second] = [() => FakeSocket.opened[0]!, () => FakeSocket.opened[1]!];

test("a drain gives a stream its pause and breaks it, and the next one has another connection", async () => {
  const client = open();
  const { id, text } = await begin(client, first);
  first().says({ op: "events", id, sent: 9, events: [{ cursor: "1-1", event: { seq: 1 } }] });
  first().says({ op: "drain", after_ms: 1_500, cursors: { [id]: "1-1" } });
  expect(await text()).toBe('id: 1-1\ndata: {"seq":1}\n\n');
  expect(await text()).toBe("retry: 1500\n\n");
  await expect(text()).rejects.toThrow("broke");
  await begin(client, second);
});

test("a broken stream has its error, and the connection stays", async () => {
  const client = open();
  const { id, text } = await begin(client, first);
  first().says({ op: "broken", id, cursor: null, error: { code: "unauthenticated" } });
  expect(await text()).toBe('event: error\ndata: {"error":{"code":"unauthenticated"}}\n\n');
  await expect(text()).rejects.toThrow("broke");
  void client.follow();
  await vi.waitUntil(() => first().sent.filter(({ op }) => op === "follow").length === 2);
});

test("a call that is aborted while the connection opens is not sent", async () => {
  const client = open();
  const aborted = new AbortController();
  const answered = client.follow(aborted.signal);
  aborted.abort();
  first().says({ op: "ready" });
  await expect(answered).rejects.toThrow("aborted");
  expect(first().sent).toEqual([]);
});

test("calls are made with fetch where a connection does not get ready in time", async () => {
  vi.useFakeTimers();
  try {
    const client = open();
    const answered = client.follow();
    await vi.advanceTimersByTimeAsync(10_000);
    await answered;
    expect(client.other).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});
