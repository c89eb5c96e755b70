import { describe, expect, it } from "vitest";
import { auditEventsRequestSchema, auditSearchSchema } from "./audit-call.ts";

const GENERATION = `gen_0_${"0".repeat(26)}`;

describe("a call to the audit log", () => {
  it("says for itself what it leaves open", () => {
    expect(auditSearchSchema.parse({ tenant: "acme" })).toEqual({ tenant: "acme", limit: 100 });
    const events = { tenant: "acme", generation: GENERATION, from_seq: 0, max_bytes: 1 };
    expect(auditEventsRequestSchema.parse(events)).toEqual({ ...events, original: false });
  });

  it.each([
    [auditSearchSchema, { tenant: "a.b" }, "tenant"],
    [auditSearchSchema, { tenant: "acme", limit: 1_001 }, "limit"],
    [auditSearchSchema, { tenant: "acme", from: "yesterday" }, "from"],
    [auditSearchSchema, { tenant: "acme", status: "gone" }, "status"],
    [auditEventsRequestSchema, { tenant: "acme", generation: "*", from_seq: 0, max_bytes: 1 }, "generation"],
    [
      auditEventsRequestSchema,
      { tenant: "acme", generation: GENERATION, from_seq: 0, max_bytes: 524_289 },
      "max_bytes",
    ],
  ])("is refused for what it can't be about: %#", (schema, request, field) => {
    expect(schema.safeParse(request).error?.issues.map(({ path }) => path[0])).toEqual([field]);
  });
});
