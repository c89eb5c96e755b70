import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { parseTenantId, parseWith } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { tenantListSchema } from "../admin/tenant-routes.ts";
import { queryTokenOf, takeQueryToken } from "../http/query-token.ts";
import { parseListCursor } from "../review/list-reviews.ts";
import { parseAuditQuery } from "../routes/audit-query.ts";
import { eventsQuerySchema } from "../routes/events.ts";
import { reviewListSchema } from "../routes/reviews.ts";
import { fuzz, nearly, nearlyText } from "./fuzz.fixture.ts";

const integer = fc.integer({ min: -1, max: 40_000 }).map(String);
const short = fc.string({ maxLength: 10 });
const open = { requiredKeys: [] };

test("the query of events is taken within its limits", () => {
  const query = fc.record(
    { after: short, wait: integer, limit: integer, original: fc.constantFrom("true", "false") },
    open,
  );
  fuzz(nearly(query), {
    parse: (value) => parseWith(eventsQuerySchema, value, "query"),
    check({ wait, limit, original }) {
      expect([wait >= 0 && wait <= 30_000, limit >= 1 && limit <= 1_000, typeof original]).toEqual([
        true,
        true,
        "boolean",
      ]);
    },
  });
});

test.each([
  ["reviews", reviewListSchema, 100],
  ["tenants", tenantListSchema, 1_000],
] as const)("the query of a list of %s is taken within its limits", (_, schema, most) => {
  const limit = fc.integer({ min: 0, max: most + 100 }).map(String);
  fuzz(nearly(fc.record({ limit, after: short }, open)), {
    parse: (value) => parseWith<{ limit: number }>(schema, value, "query"),
    check: (taken) => expect(taken.limit >= 1 && taken.limit <= most).toBe(true),
  });
});

test("parseListCursor takes a cursor of a list, or none", () => {
  fuzz(nearlyText(fc.bigInt({ min: 0n, max: 10n ** 17n }).map(String)), {
    parse: parseListCursor,
    check: (taken, cursor) => expect(`${taken}`).toBe(cursor === "" ? "0" : cursor),
  });
});

test("parseAuditQuery takes what the audit log can be asked", () => {
  const tenant = parseTenantId("acme");
  const time = fc.date({ min: new Date(0), noInvalidDate: true }).map((date) => date.toISOString());
  const query = fc
    .tuple(
      fc.record(
        {
          from: fc.constant("2026-01-01T00:00:00Z"),
          to: time,
          model: fc.constantFrom("sim", "a/b"),
          status: fc.constantFrom("open", "completed", "failed", "cancelled"),
          subject: fc.string({ minLength: 1 }),
          limit: fc.integer({ min: 0, max: 1_100 }).map(String),
          after: short,
        },
        open,
      ),
      fc.dictionary(fc.oneof(short, fc.constant("__proto__")), short, { maxKeys: 18 }),
    )
    .map(([fields, pairs]) => ({
      ...fields,
      ...Object.fromEntries(Object.entries(pairs).map(([key, value]) => [`metadata[${key}]`, value])),
    }));
  fuzz(nearly(query.map((fields): unknown => fields)).filter(isObject), {
    parse: (value) => parseAuditQuery(tenant, value),
    check(search) {
      const { from, to, limit, metadata = {} } = search;
      for (const each of [from, to]) if (each !== undefined) expect(Date.parse(each)).not.toBeNaN();
      expect([search.tenant, limit >= 1 && limit <= 1_000]).toEqual([tenant, true]);
      expect(Object.keys(metadata).length).toBeLessThanOrEqual(16);
    },
  });
});

/** Fastify's query is always one. */
function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

test("takeQueryToken leaves no token in the URL of events, and takes it only if it is the one", () => {
  const socket = new Socket();
  const token = fc.stringMatching(/^[A-Za-z0-9._-]{1,30}$/).map((each) => `token=secret-${each}`);
  const part = fc.oneof(token, fc.constantFrom("after=1-1", "wait=0", "tokens=1", "", "Token=x"));
  const path = nearlyText(fc.constantFrom("gen_0_x", "a%2Fb", "é")).filter((id) => /^[^/?]+$/.test(id));
  const url = fc
    .tuple(path, fc.array(part, { maxLength: 4 }))
    .map(([id, parts]) => `/v1/generations/${id}/events?${parts.join("&")}`);
  fuzz(url, {
    parse(text) {
      const request = new IncomingMessage(socket);
      Object.assign(request, { url: text, method: "GET" });
      return { left: takeQueryToken(request), taken: queryTokenOf(request) };
    },
    isRefusal: ({ taken }) => taken === undefined,
    check({ left, taken }, text) {
      expect(left).not.toContain("secret-");
      const tokens = [...text.matchAll(/[?&]token=([^&]*)/g)].map(([, each]) => each);
      expect(taken).toBe(tokens.length === 1 ? tokens[0] : undefined);
      expect(left.includes("after=1-1")).toBe(text.includes("after=1-1"));
    },
  });
});
