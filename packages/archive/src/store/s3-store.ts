import { setTimeout as pause } from "node:timers/promises";
import { RepriseError } from "@reprise/protocol";
import { AwsClient } from "aws4fetch";
import type { BlobInfo, BlobStore, ByteRange } from "./blob-store.ts";

export interface S3StoreOptions {
  /** Of the bucket, path-style, with a prefix behind it if there is one: `https://s3.example/bucket/prefix`. */
  url: string;
  region: string;
  keyId: string;
  secret: string;
  /** How long one request may take. Default 30 s. */
  timeoutMs?: number;
}

const TRIES = 4;
const FIRST_PAUSE_MS = 100;
const TIMEOUT_MS = 30_000;
const PAGE = 1_000;

/**
 * A bucket of an S3-compatible store. What is written is durable when the store says so. `create` is a put with `If-None-Match: *`: ask
 * `probeStore` whether the store honours it. Requests that failed are sent again where that can do no harm: all but `create`, whose outcome
 * is found out by reading.
 */
export function createS3Store(options: S3StoreOptions): BlobStore {
  const { url, region, keyId, secret, timeoutMs = TIMEOUT_MS } = options;
  const aws = new AwsClient({
    accessKeyId: keyId,
    secretAccessKey: secret,
    region,
    service: "s3",
    retries: 0,
  });
  const base = new URL(url.endsWith("/") ? url : `${url}/`);
  const [bucket = "", ...folders] = base.pathname.slice(1, -1).split("/");
  const prefix = folders.length > 0 ? `${folders.join("/")}/` : "";
  const addressOf = (key: string) => new URL(key, base).href;

  const send = async (address: string, init: RequestInit): Promise<Response> => {
    try {
      return await aws.fetch(address, { ...init, signal: AbortSignal.timeout(timeoutMs) });
    } catch (cause) {
      throw unavailable(init.method ?? "GET", "no answer", cause);
    }
  };
  const sendSafely = async (address: string, init: RequestInit): Promise<Response> => {
    for (let tries = 1; ; tries++) {
      try {
        const response = await send(address, init);
        if (response.status < 500 && response.status !== 429) return response;
        await response.body?.cancel();
        throw unavailable(init.method ?? "GET", `${response.status}`);
      } catch (error) {
        if (tries === TRIES) throw error;
        await pause(FIRST_PAUSE_MS * 2 ** tries * (0.5 + Math.random()));
      }
    }
  };

  const get = async (key: string, range?: ByteRange): Promise<Uint8Array | undefined> => {
    if (range?.length === 0) return new Uint8Array();
    const headers = range ? { range: `bytes=${range.offset}-${range.offset + range.length - 1}` } : {};
    const response = await sendSafely(addressOf(key), { method: "GET", headers });
    if (response.status === 404) return undefined;
    // The range begins behind the end.
    if (response.status === 416) return new Uint8Array();
    await assertOk(response, "GET");
    const bytes = new Uint8Array(await response.arrayBuffer());
    return range && response.status === 200
      ? bytes.subarray(range.offset, range.offset + range.length)
      : bytes;
  };
  const compare = async (key: string, bytes: Uint8Array): Promise<"created" | "exists" | undefined> => {
    const there = await get(key);
    if (!there) return undefined;
    return Buffer.compare(there, bytes) === 0 ? "created" : "exists";
  };

  return {
    get,
    async put(key, bytes) {
      const response = await sendSafely(addressOf(key), { method: "PUT", body: toBody(bytes) });
      await assertOk(response, "PUT");
    },
    async create(key, bytes) {
      const init = { method: "PUT", body: toBody(bytes), headers: { "if-none-match": "*" } };
      const response = await send(addressOf(key), init);
      const { status } = response;
      if (status !== 412 && status !== 409) {
        // Of an answer such as 500 it is not clear what became of the object; whoever tries again finds it out.
        await assertOk(response, "PUT");
        return "created";
      }
      await response.body?.cancel();
      const outcome = await compare(key, bytes);
      if (outcome) return outcome;
      throw unavailable("PUT", "another request for the same object is under way");
    },
    async *list(listed) {
      let token: string | undefined;
      do {
        const address = new URL(`/${bucket}/`, base);
        address.searchParams.set("list-type", "2");
        address.searchParams.set("prefix", `${prefix}${listed}`);
        address.searchParams.set("max-keys", `${PAGE}`);
        if (token !== undefined) address.searchParams.set("continuation-token", token);
        const response = await sendSafely(address.href, { method: "GET" });
        await assertOk(response, "GET");
        const page = await response.text();
        yield* readListing(page, prefix);
        token = field(page, "NextContinuationToken");
      } while (token !== undefined);
    },
    async delete(key) {
      const response = await sendSafely(addressOf(key), { method: "DELETE" });
      if (response.status !== 404) await assertOk(response, "DELETE");
    },
  };
}

function* readListing(page: string, prefix: string): Generator<BlobInfo> {
  for (const [, entry = ""] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
    const key = field(entry, "Key");
    if (key?.startsWith(prefix)) yield { key: key.slice(prefix.length), bytes: Number(field(entry, "Size")) };
  }
}

function field(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text
    ?.replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

function toBody(bytes: Uint8Array): BodyInit {
  return Uint8Array.from(bytes);
}

async function assertOk(response: Response, method: string): Promise<void> {
  if (response.ok) {
    if (method !== "GET") await response.body?.cancel();
    return;
  }
  await response.body?.cancel();
  throw unavailable(method, `${response.status}`);
}

function unavailable(method: string, reason: string, cause?: unknown): RepriseError {
  return new RepriseError("archive_unavailable", `The archive's store: ${method}: ${reason}.`, { cause });
}
