import type { IncomingMessage, ServerResponse } from "node:http";
import { type Generation, parseTenantId } from "@reprise/protocol";
import { PNG } from "../../testing/uploads.ts";
import type { EgressTimes } from "../../egress/open-url.ts";
import { HOST, openTlsHost } from "../../egress/tls-host.fixture.ts";
import { call, KEYS, openPlatform } from "../../testing/platform.ts";

export const URL_A = `https://${HOST}/a.png`;
export const IMAGE = Buffer.concat([PNG, Buffer.alloc(300_000, 7)]);
/** One generation at a time. */
export const NARROW = { id: "narrow", key: "rk_narrow_0123456789abcdef" };

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export const sends =
  (content: Buffer | string, type?: string): Answer =>
  (_request, response) =>
    response.writeHead(200, type === undefined ? {} : { "content-type": type }).end(content);

/** A node that fetches from one host, which answers like this. */
export async function openFetching(answer: Answer, times: EgressTimes = {}) {
  await using stack = new AsyncDisposableStack();
  const platform = stack.use(await openPlatform());
  const host = stack.use(await openTlsHost((request, response) => answer(request, response)));
  const node = await platform.addNode({
    mediaFetchAllow: [HOST],
    egress: { ...host.ports, times: { connectMs: 60_000, headersMs: 60_000, totalMs: 60_000, ...times } },
    moreTenants: [
      {
        id: NARROW.id,
        keys: [{ secret: NARROW.key, roles: ["create", "read"] }],
        limits: { tenant: { generations: 1 } },
      },
    ],
  });
  const create = (
    part: object,
    fields: object = {},
    { headers = {}, key = KEYS.acme }: { headers?: Record<string, string>; key?: string } = {},
  ) =>
    call(`${node.url}/v1/generations`, {
      body: { model: "sim", input: [{ role: "user", content: [part] }], ...fields },
      headers,
      key,
    });
  const seq0 = async ({ id }: Generation) => {
    const ref = { tenant: parseTenantId("acme"), generation: id as never };
    const first = await platform.log.reader.readFirst(ref);
    return JSON.parse(Buffer.from(first!.payload).toString()) as {
      request: object;
      media: Record<string, { blob: string; bytes: number; type: string }>;
    };
  };
  const owned = stack.move();
  return { platform, node, create, seq0, host, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
