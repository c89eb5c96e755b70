import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import type { BlobStore, ByteRange } from "./blob-store.ts";
import { assertKeyPrefix, assertObjectKey, isObjectKey } from "./object-key.ts";
import {
  createS3Sender,
  failureOf,
  isPassing,
  type S3Answer,
  type S3Credentials,
  type S3Request,
  sendUntilSettled,
  readListing,
  xmlField,
} from "./s3-request.ts";

export interface S3StoreOptions extends S3Credentials {
  /** URL of the bucket, path-style, optionally with a prefix: `https://s3.example/bucket/prefix`. */
  url: string;
  /** Timeout of one request, its body included. Default 30 s. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const PAGE = 1_000;
const NOT_IMPLEMENTED = 501;
/** There is an object already; another request for the same object is under way. */
const CONFLICTS = [412, 409];
/** The `param` of an error if a store does not know the header. */
const IF_NONE_MATCH = "if-none-match";

/**
 * A bucket of an S3-compatible store. What is written is durable when the store says so.
 *
 * `create` is a put with `If-None-Match: *`: ask `probeStore` whether the store honours it. When it is not clear what became of it (no
 * answer, a 5xx, a conflict), what lies there tells whether it was taken. If not it is sent again, as everything else that failed is: of
 * several the store takes one, and the bytes are the same. Every request is sent four times at most.
 *
 * @throws RepriseError `config_invalid` when the URL names no bucket, or a person and a password
 */
export function createS3Store(options: S3StoreOptions): BlobStore {
  const send = createS3Sender(options, options.timeoutMs ?? TIMEOUT_MS);
  const { base, bucket, prefix } = parseBucketUrl(options.url);
  const addressOf = (key: string) => new URL(assertObjectKey(key), base).href;
  /** An answer that won't change, if one comes. */
  const ask = async (request: S3Request): Promise<S3Answer> =>
    sendUntilSettled(send, request, (answer) => (answer && !isPassing(answer) ? answer : undefined));

  const get = async (key: string, range?: ByteRange): Promise<Uint8Array | undefined> => {
    // No header can ask for nothing: it is asked whether there is an object.
    const length = Math.max(1, range?.length ?? 0);
    const headers = range && { range: `bytes=${range.offset}-${range.offset + length - 1}` };
    const request = { method: "GET", address: addressOf(key), ...(headers && { headers }) } as const;
    const answer = await ask(request);
    if (isMissing(answer)) return undefined;
    // The range begins after the end.
    if (answer.status === 416 && range) return new Uint8Array();
    assertOk(request, answer);
    // Some stores answer with all of it.
    const start = range && answer.status === 200 ? range.offset : 0;
    return range ? answer.body.subarray(start, start + range.length) : answer.body;
  };

  return {
    get,
    async put(key, body) {
      const request = { method: "PUT", address: addressOf(key), body } as const;
      assertOk(request, await ask(request));
    },
    async create(key, body) {
      const headers = { [IF_NONE_MATCH]: "*" };
      const request = { method: "PUT", address: addressOf(key), headers, body } as const;
      return sendUntilSettled(send, request, async (answer) => {
        if (answer?.status === NOT_IMPLEMENTED) throw unconditional();
        if (answer && !isPassing(answer) && !CONFLICTS.includes(answer.status)) {
          assertOk(request, answer);
          return "created";
        }
        const there = await get(key);
        if (there && Buffer.compare(there, body) === 0) return "created";
        // That the store refuses it, and not only fails, is what a probe wants to know.
        const isRefused = answer !== undefined && CONFLICTS.includes(answer.status);
        return there && isRefused ? "exists" : undefined;
      });
    },
    async *list(listed, after) {
      const address = new URL(`/${bucket}/`, base);
      address.searchParams.set("list-type", "2");
      address.searchParams.set("prefix", `${prefix}${assertKeyPrefix(listed)}`);
      address.searchParams.set("max-keys", `${PAGE}`);
      if (after !== undefined) address.searchParams.set("start-after", `${prefix}${after}`);
      for (;;) {
        const request = { method: "GET", address: address.href } as const;
        const answer = await ask(request);
        assertOk(request, answer);
        const page = Buffer.from(answer.body).toString();
        for (const { key: whole, bytes } of readListing(page)) {
          const key = whole.slice(prefix.length);
          if (isObjectKey(key)) yield { key, bytes };
        }
        const token = xmlField(page, "NextContinuationToken");
        if (token === undefined) return;
        address.searchParams.set("continuation-token", token);
      }
    },
    async delete(key) {
      const request = { method: "DELETE", address: addressOf(key) } as const;
      const answer = await ask(request);
      if (!isMissing(answer)) assertOk(request, answer);
    },
  };
}

function parseBucketUrl(text: string): { base: URL; bucket: string; prefix: string } {
  const base = URL.parse(text.endsWith("/") ? text : `${text}/`);
  const [bucket = "", ...folders] = base?.pathname.slice(1, -1).split("/") ?? [];
  // The text is not repeated: it may hold a secret.
  if (!base || !/^https?:$/.test(base.protocol) || base.username || base.password || !isObjectKey(bucket))
    throw new RepriseError(
      "config_invalid",
      "The URL of an S3-compatible store is https://<host>/<bucket>, or .../<bucket>/<prefix>, without a password.",
    );
  return { base, bucket, prefix: folders.length > 0 ? `${folders.join("/")}/` : "" };
}

/** An object that is not there, and not the bucket: an archive that has gone must not look like an empty one. */
function isMissing({ status, errorCode }: S3Answer): boolean {
  return status === 404 && errorCode !== "NoSuchBucket";
}

function assertOk(request: S3Request, answer: S3Answer): void {
  if (answer.status < 200 || answer.status > 299) throw failureOf(request, answer);
}

function unconditional(): RepriseError {
  return new RepriseError("config_invalid", "The archive's store can't create objects exclusively.", {
    param: IF_NONE_MATCH,
  });
}

/**
 * Tells if a store refuses to create an object that exists. Some stores ignore the condition of a conditional put, and some refuse
 * conditional puts altogether. A store that fails is asked again later: two processes that disagree about it would not exclude each other.
 * @throws RepriseError `archive_unavailable`
 */
export async function probeStore(store: BlobStore): Promise<"conditional" | "unconditional"> {
  const key = `_probe/${randomBytes(12).toString("hex")}`;
  const first = Buffer.from("first");
  await store.put(key, first);
  try {
    const second = await store.create(key, Buffer.from("second"));
    const there = await store.get(key);
    const isKept = there !== undefined && first.equals(there);
    return second === "exists" && isKept ? "conditional" : "unconditional";
  } catch (error) {
    if (error instanceof RepriseError && error.param === IF_NONE_MATCH) return "unconditional";
    throw error;
  } finally {
    await store.delete(key);
  }
}
