import { createRef } from "@reprise/testkit";
import { expect, test } from "vitest";
import { ReportLimit } from "./report-limit.ts";

test("a generation takes a limited number of reports a minute, and another one's are not counted with them", () => {
  let now = 0;
  const limit = new ReportLimit(() => now);
  const [{ generation: one }, { generation: other }] = [createRef(), createRef()];
  for (let i = 0; i < 60; i++) limit.count(one);
  now = 10_000;
  expect(() => limit.count(one)).toThrow(
    expect.objectContaining({ code: "limit_exceeded", param: "timings", retryAfterMs: 50_000 }),
  );
  limit.count(other);
  now = 60_000;
  limit.count(one);
});
