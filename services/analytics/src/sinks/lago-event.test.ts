import { GenerationFold, toUsageEvent } from "@reprise/facts";
import { history } from "@reprise/facts/testing";
import { createRef } from "@reprise/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toLagoEvent } from "./lago-event.ts";

test("Lago's form has the same id and no value that is missing", () => {
  fc.assert(
    fc.property(history, (log) => {
      const fold = GenerationFold.begin(createRef("acme"));
      for (const { payload, storedAtUs } of log) fold.feed(payload, storedAtUs);
      const event = toUsageEvent(fold.toRow(), { source: "/reprise" });
      const lago = toLagoEvent(event, "tokens");
      expect(lago).toMatchObject({
        transaction_id: event.id,
        external_subscription_id: "acme",
        code: "tokens",
      });
      expect(Object.values(lago.properties)).not.toContain(null);
      expect(lago.properties["output_tokens"]).toBe(event.data.output_tokens);
    }),
    { numRuns: 50 },
  );
});
