import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import {
  asSeq,
  encodeCursor,
  parseGenerationId,
  parseIdempotencyKey,
  parseTenantId,
} from "@reprise/protocol";
import { isTokenShaped } from "@reprise/tenancy";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseIfMatch, toETag } from "../admin/etag.ts";
import { requestedCursor } from "../domain/resume-cursor.ts";
import { bearerOf } from "../http/auth.ts";
import { TrustedProxies } from "../http/client-address.ts";
import { requestIdOf } from "../http/request-id.ts";
import { parseReviewId } from "../review/review.ts";
import { preferredType } from "../http/negotiation.ts";
import { fuzz, nearlyText } from "./fuzz.fixture.ts";

const visible = fc.stringMatching(/^[\x21-\x7e]{1,40}$/);

test("bearerOf takes one word after the scheme, or nothing", () => {
  const scheme = fc.constantFrom("Bearer ", "bearer ", "BEARER ", "Bearer  ", "Basic ", "");
  fuzz(nearlyText(fc.tuple(scheme, visible).map((parts) => parts.join(""))), {
    parse: bearerOf,
    isRefusal: (bearer) => bearer === undefined,
    check(bearer, header) {
      if (bearer === undefined) return;
      expect([bearer.includes(" "), header.slice("bearer ".length)]).toEqual([false, bearer]);
    },
  });
});

test("isTokenShaped takes three parts in base64url", () => {
  const part = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);
  fuzz(nearlyText(fc.tuple(part, part, part).map((parts) => parts.join("."))), {
    parse: (text) => (isTokenShaped(text) ? text.split(".") : undefined),
    isRefusal: (parts) => parts === undefined,
    check: (parts) =>
      expect(parts?.map((each) => /^[\w-]+$/.test(each)) ?? [true, true, true]).toEqual([true, true, true]),
  });
});

test("parseIdempotencyKey takes visible ASCII as it is", () => {
  const long = fc.integer({ min: 250, max: 260 }).map((length) => "k".repeat(length));
  fuzz(fc.oneof(nearlyText(fc.oneof(visible, long)), fc.anything()), {
    parse: parseIdempotencyKey,
    check(key, header) {
      expect([key, key.length <= 255, /^[!-~]+$/.test(key)]).toEqual([header, true, true]);
    },
  });
});

test("preferredType answers with a type that is offered", () => {
  const offered = ["text/event-stream", "application/json"] as const;
  const type = fc.constantFrom(...offered, "*/*", "text/*", "application/*", "text/html", "image/png");
  const quality = fc.constantFrom("", ";q=0", ";q=0.5", "; Q=1", ";q=2", ";q=", ";v=1;q=0.1");
  const range = fc.tuple(type, quality).map((parts) => parts.join(""));
  const accept = fc.array(range, { maxLength: 4 }).map((ranges) => ranges.join(", "));
  fuzz(nearlyText(accept), {
    parse: (header) => preferredType(header, offered),
    check: (taken) => expect(offered).toContain(taken),
  });
});

test("parseIfMatch takes an ETag, and no other version than it names", () => {
  const revision = fc.oneof(fc.integer({ min: 1 }), fc.bigInt({ min: 1n, max: 10n ** 17n }));
  fuzz(
    nearlyText(
      fc.oneof(
        revision.map((each) => `"${each}"`),
        fc.constant("*"),
      ),
    ),
    {
      parse: parseIfMatch,
      check: (taken, header) => expect(taken === undefined ? "*" : toETag(taken)).toBe(header),
    },
  );
});

test("requestedCursor takes a cursor of ours, and the header before the query", () => {
  const part = fc.nat(999_999_999);
  const nonce = fc.option(fc.stringMatching(/^[0-9a-f]{6}$/), { nil: undefined });
  const cursor = fc.tuple(part, nonce, part).map(([attempt, each, seq]) => {
    return encodeCursor({ attempt, nonce: each, seq: asSeq(seq) });
  });
  const sent = fc.option(nearlyText(cursor), { nil: undefined });
  fuzz(fc.record({ lastEventId: sent, after: sent }), {
    parse: ({ lastEventId, after }) => requestedCursor(lastEventId, after),
    check(taken, { lastEventId, after }) {
      expect(encodeCursor(taken.cursor)).toBe(lastEventId || after || "0-0");
      expect(taken.param).toBe(lastEventId ? "Last-Event-ID" : "after");
    },
  });
});

const tenant = parseTenantId("acme");
const generationId = fc
  .tuple(fc.nat(1_050), fc.stringMatching(/^[0-9a-v]{26}$/))
  .map(([shard, suffix]) => `gen_${shard}_${suffix}`);

test("parseGenerationId, parseTenantId and parseReviewId take ids that are tokens of subjects", () => {
  const isToken = (text: string) => /^[A-Za-z0-9_-]{1,64}$/.test(text);
  fuzz(nearlyText(generationId), {
    parse: parseGenerationId,
    check: (id, text) => expect([id, isToken(id)]).toEqual([text, true]),
  });
  fuzz(nearlyText(fc.stringMatching(/^[A-Za-z0-9_-]{1,66}$/)), {
    parse: parseTenantId,
    check: (id, text) => expect([id, isToken(id)]).toEqual([text, true]),
  });
  const reviewId = fc.tuple(generationId, fc.nat()).map(([id, seq]) => `${id}.rev_${seq}`);
  fuzz(nearlyText(reviewId), {
    parse: (text) => parseReviewId(tenant, text),
    check({ ref, reviewId: id }, text) {
      expect([`${ref.generation}.${id}`, isToken(ref.generation)]).toEqual([text, true]);
    },
  });
});

test("requestIdOf makes an id of any header, and takes none that may be a secret", () => {
  const proxies = new TrustedProxies(["127.0.0.1"]);
  const id = fc.stringMatching(/^[A-Za-z0-9._-]{8,64}$/);
  const key = fc.tuple(fc.constantFrom("rk_", "ro_"), id).map((parts) => parts.join(""));
  const remote = fc.constantFrom("127.0.0.1", "::ffff:127.0.0.1", "192.0.2.1", "", undefined);
  const value = fc.oneof(nearlyText(fc.oneof(id, key)), fc.constant(undefined));
  fuzz(fc.tuple(value, remote), {
    parse([sent, remoteAddress]) {
      const request = new IncomingMessage(new Socket());
      Object.defineProperty(request.socket, "remoteAddress", { value: remoteAddress });
      if (sent !== undefined) request.headers["x-request-id"] = sent;
      return requestIdOf(request, proxies);
    },
    isRefusal: (made) => made.startsWith("req_"),
    check(made, [sent, from]) {
      expect(made).toMatch(/^[A-Za-z0-9._-]{8,64}$/);
      expect(made).not.toMatch(/^r[ko]_/);
      expect(made !== sent || from?.endsWith("127.0.0.1")).toBe(true);
    },
  });
});
