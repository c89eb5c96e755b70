import { RepriseError } from "@reprise/protocol";
import { NO_TRACING } from "../telemetry/index.ts";
import { recordSpans } from "../telemetry/testing/index.ts";
import { expect, test } from "vitest";
import { type CommitSpan, traceCommits } from "./trace-commits.ts";

const BATCH = { stream: "OPS", first: 3, last: 5, messages: ["a", "b"] };
const { signal } = new AbortController();
const away = () => new RepriseError("archive_unavailable", "The store is away.");

test("a batch's commit is a trace of its own, with what it has made of how much", async () => {
  const tracing = recordSpans();
  const commit = traceCommits(tracing, "analytics", async (_batch, _giveUp, span: CommitSpan) => {
    span.counted({ "reprise.rows": 1 });
    return "committed";
  });
  expect([await commit(BATCH, signal), await commit({ ...BATCH, messages: [] }, signal)]).toEqual([
    "committed",
    "committed",
  ]);
  expect(tracing.spans).toMatchObject([
    {
      name: "commit analytics",
      kind: "consumer",
      parentSpanId: undefined,
      links: [],
      error: undefined,
      attributes: {
        "messaging.system": "nats",
        "messaging.destination.name": "OPS",
        "messaging.operation.name": "commit",
        "messaging.batch.message_count": 2,
        "reprise.from_stream_seq": 3,
        "reprise.last_stream_seq": 5,
        "reprise.rows": 1,
        "reprise.result": "committed",
      },
    },
  ]);
});

test("a commit of which a try has failed, or that has failed, says the code", async () => {
  const tracing = recordSpans();
  let fails: "once" | "whole" = "once";
  const commit = traceCommits(tracing, "audit-log", async (_batch, _giveUp, span: CommitSpan) => {
    if (fails === "whole") throw away();
    span.failed(away());
    return "committed";
  });
  await commit(BATCH, signal);
  fails = "whole";
  await expect(commit(BATCH, signal)).rejects.toThrow("The store is away.");
  expect(tracing.spans).toMatchObject([
    { error: "archive_unavailable", attributes: { "reprise.result": "committed" } },
    { error: "archive_unavailable" },
  ]);
});

test("without tracing a batch is committed all the same", async () => {
  const commit = traceCommits(NO_TRACING, "analytics", async (_batch, _giveUp, span: CommitSpan) => {
    span.counted({ "reprise.rows": 1 });
    span.failed(away());
    return "fenced";
  });
  expect(await commit(BATCH, signal)).toBe("fenced");
});
