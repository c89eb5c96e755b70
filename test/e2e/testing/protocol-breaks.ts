import type { Break, ProxiedAnswer } from "./breaking-proxy.ts";

/** Servers that break one requirement each: at least one for each requirement that the conformance suite tests. */
export const BREAKS: readonly Break[] = [
  recoded("M-1", "unsupported_media_type", 400, "invalid_request"),
  recoded("M-2", "invalid_json", 422, "invalid_json"),
  recoded("M-3", "body_too_large", 400, "invalid_request"),
  recoded("M-4", "unauthenticated", 403, "forbidden"),
  answered("M-4", "looks for the path before the key", (answer, { url }) => {
    if (url.pathname === "/v1/nothing") setError(answer, 404, "not_found");
  }),
  recoded("M-5", "forbidden", 401, "unauthenticated"),
  recoded("M-5", "forbidden", 400, "invalid_json"),
  recoded("M-6", "generation_not_found", 403, "forbidden"),
  tellsThatAGenerationExists(),
  answered("M-7", "leaves retryable out", (answer) => delete errorOf(answer)["retryable"]),
  answered("M-7", "leaves param out", (answer) => delete errorOf(answer)["param"]),
  answered("M-8", "sends no Retry-After", ({ headers }) => delete headers["retry-after"]),
  {
    requirement: "M-9",
    how: "ignores unknown query parameters",
    request: ({ url }) => url.searchParams.delete("colour"),
  },
  answered("M-10", "sends no X-Request-Id with a 404", ({ status, headers }) => {
    if (status === 404) delete headers["x-request-id"];
  }),
  answered("M-11", "sends no Vary with an error", ({ status, headers }) => {
    if (status >= 400) delete headers.vary;
  }),
  answered("M-11", "lets errors be cached", ({ status, headers }) => {
    if (status >= 400) delete headers["cache-control"];
  }),
  answered("M-12", "sends no Allow", ({ headers }) => delete headers.allow),
  answered("M-13", "makes ids that begin with run_", ({ json }) => {
    json["id"] = String(json["id"]).replace("gen_", "run_");
  }),
  recoded("M-14", "generation_not_found", 400, "invalid_request"),
  answered("M-15", "sends no Location", ({ headers }) => delete headers.location),
  restated("M-16", "cancels generations without readers", ["completed", "cancelled"]),
  recoded("M-17", "model_not_found", 400, "invalid_request"),
  recoded("M-18", "capability_unsupported", 400, "invalid_request"),
  answered("M-19", "leaves param out", (answer) => delete errorOf(answer)["param"]),
  runsEachRepetition(),
  recoded("M-21", "idempotency_conflict", 400, "invalid_request"),
  answered("M-23", "sends no X-Should-Retry", ({ headers }) => delete headers["x-should-retry"]),
  answered(
    "M-24",
    "sends no Reprise-Generation-Id",
    ({ headers }) => delete headers["reprise-generation-id"],
  ),
  ...["M-25", "M-26"].map((requirement): Break => ({
    requirement,
    how: "ignores Last-Event-ID in a create",
    request({ method, headers }) {
      if (method === "POST") delete headers["last-event-id"];
    },
  })),
  answered("M-27", "ends with stop after calls", ({ json }) => {
    if (json["finish_reason"] === "tool_calls") json["finish_reason"] = "stop";
  }),
  restated("M-28", "has a status of its own", ["awaiting_tool", "waiting"]),
  answered("M-29", "settles a running generation", ({ json }) => (json["settled"] = true)),
  answered("M-29", "gives the cursor of its first event", ({ json }) => {
    json["cursor"] = String(json["cursor"]).replace(/\d+$/, "1");
  }),
  answered("M-30", "loses the last character", ({ json }) => {
    json["text"] = String(json["text"]).slice(0, -1);
  }),
  answered("M-31", "gives a cancelled generation a finish_reason", ({ json }) => {
    if (json["status"] === "cancelled") json["finish_reason"] = "stop";
  }),
  answered("M-31", "gives a completed generation an error", ({ json }) => {
    if (json["status"] === "completed") json["error"] = {};
  }),
  answered("M-32", "answers a cancel before the end", ({ json }, { url }) => {
    if (url.pathname.endsWith("/cancel")) json["status"] = "in_progress";
  }),
  answered("M-33", "refuses a cancel after the end", (answer, { url }) => {
    const isLate = url.pathname.endsWith("/cancel") && answer.json["status"] !== "cancelled";
    if (isLate) setError(answer, 409, "generation_ended");
  }),
  { requirement: "M-34", how: "cancels when a reader leaves", cancelsOnLeave: true },
  replaced("M-35", "gives another reason", ["abandoned", "requested"]),
  answered("M-36", "answers a tool's answer with 202", (answer, { url }) => {
    if (url.pathname.endsWith("/tool-results")) answer.status = 202;
  }),
  wantsAnswersInOrder(),
  answered("M-38", "takes a repeated answer", (answer) => {
    if (errorOf(answer)["code"] === "tool_result_conflict") answer.status = 200;
  }),
  recoded("M-39", "tool_call_not_found", 409, "generation_ended"),
  recoded("M-40", "generation_ended", 404, "tool_call_not_found"),
  answered("M-41", "shows an empty text", ({ json }) => {
    if ("status" in json) json["text"] ??= "";
  }),
  recoded("M-42", "forbidden", 406, "not_acceptable"),
  framed("M-43", "puts type first", (lines) => lines.replace(/("seq":\d+),("type":"[^"]+")/, "$2,$1")),
  framed("M-44", "loses an event", (lines, index) => (index === 2 ? undefined : lines)),
  framed("M-45", "ends twice", (lines) =>
    lines.includes('"type":"generation.') && lines.includes('"usage"') ? `${lines}\n\n${lines}` : lines,
  ),
  framed("M-46", "writes events again for each reader", (lines, _, stream) =>
    lines.replace('{"seq"', `{${" ".repeat(stream)}"seq"`),
  ),
  replaced("M-47", "counts attempts from 0", ['"attempt":1', '"attempt":0']),
  framed("M-48", "sends long cursors", (lines) => lines.replace(/^id: /, `id: ${"0".repeat(26)}`)),
  {
    requirement: "M-49",
    how: "prefers the query",
    request({ url, headers }) {
      if (url.searchParams.has("after")) delete headers["last-event-id"];
    },
  },
  {
    requirement: "M-49",
    how: "takes an empty cursor for the end",
    frame: ({ lines, call }) => (call.headers["last-event-id"] === "" ? undefined : lines),
  },
  {
    requirement: "M-50",
    how: "skips an event after a resume",
    frame: ({ lines, index, call }) =>
      index === 0 && call.url.searchParams.has("after") ? undefined : lines,
  },
  recoded("M-51", "cursor_invalid", 410, "cursor_expired"),
  recoded("M-55", "not_acceptable", 400, "invalid_request"),
  answered("M-56", "sends no charset", ({ headers }) => {
    if (headers["content-type"]?.startsWith("text/event-stream"))
      headers["content-type"] = "text/event-stream";
  }),
  framed("M-57", "names events", (lines) => `event: message\n${lines}`),
  framed("M-58", "sends U+2028 as it is", (lines) => lines.replaceAll("\\u2028", "\u2028")),
  framed("M-59", "sends heartbeats with the next event only", (lines) => lines),
  { requirement: "M-60", how: "ends in the middle", endsAfter: 2 },
  answered("M-61", "sends an empty stream", (answer) => {
    if (answer.status === 204) answer.status = 200;
  }),
  framed("M-62", "gives an error a cursor", (lines) =>
    lines.startsWith("event: error") ? `id: 1-1\n${lines}` : lines,
  ),
  framed("M-64", "loses an event of a slow reader", (lines, index, stream) =>
    stream === 0 && index === 5 ? undefined : lines,
  ),
  paged("M-65", "skips an event", (page) => page.events.shift()),
  paged("M-66", "ends at each page", (page) => (page.ended = true)),
  paged("M-66", "never ends", (page) => (page.ended = false)),
  {
    requirement: "M-67",
    how: "answers at once",
    request: ({ url }) => url.searchParams.delete("wait"),
  },
  answered("M-68", "calls a 404 retryable", (answer) => {
    if (answer.status === 404) errorOf(answer)["retryable"] = true;
  }),
];

/** A break of answers. */
function answered(
  requirement: string,
  how: string,
  change: (...args: Parameters<NonNullable<Break["answer"]>>) => unknown,
): Break {
  return { requirement, how, answer: (...args) => void change(...args) };
}

/** A break of frames. */
function framed(
  requirement: string,
  how: string,
  change: (lines: string, index: number, stream: number) => string | undefined,
): Break {
  return { requirement, how, frame: ({ lines, index, stream }) => change(lines, index, stream) };
}

/** A break of pages. */
function paged(
  requirement: string,
  how: string,
  change: (page: { events: unknown[]; ended: boolean }) => unknown,
): Break {
  return answered(requirement, how, ({ json }) => {
    if (Array.isArray(json["events"])) change(json as unknown as { events: unknown[]; ended: boolean });
  });
}

/** Another status, or code, in the place of a code. */
function recoded(requirement: string, code: string, status: number, sent: string): Break {
  return answered(requirement, `answers ${status} ${sent} for ${code}`, (answer) => {
    if (errorOf(answer)["code"] === code) setError(answer, status, sent);
  });
}

function restated(requirement: string, how: string, [status, sent]: readonly [string, string]): Break {
  return answered(requirement, how, ({ json }) => {
    if (json["status"] === status) json["status"] = sent;
  });
}

/** Other bytes in bodies. */
function replaced(requirement: string, how: string, [from, to]: readonly [string, string]): Break {
  return answered(requirement, how, (answer) => {
    answer.json = JSON.parse(JSON.stringify(answer.json).replaceAll(from, to)) as Record<string, unknown>;
  });
}

function tellsThatAGenerationExists(): Break {
  const created = new Set<unknown>();
  return answered("M-6", "has another message for a generation that exists", (answer, { url }) => {
    created.add(answer.json["id"]);
    if (created.has(url.pathname.split("/")[3])) errorOf(answer)["message"] = "It is another tenant's.";
  });
}

function runsEachRepetition(): Break {
  let calls = 0;
  return {
    requirement: "M-20",
    how: "runs each repetition",
    request({ headers }) {
      const key = headers["idempotency-key"];
      if (key !== undefined) headers["idempotency-key"] = `${String(key)}-${calls++}`;
    },
  };
}

function wantsAnswersInOrder(): Break {
  let answers = 0;
  return answered("M-37", "refuses the later call's answer before the earlier one's", (answer, { url }) => {
    if (url.pathname.endsWith("/tool-results") && answers++ === 0)
      setError(answer, 404, "tool_call_not_found");
  });
}

/** The error of an answer; an object that is not sent if it has none. */
function errorOf({ json }: ProxiedAnswer): Record<string, unknown> {
  return (json["error"] ?? {}) as Record<string, unknown>;
}

function setError(answer: ProxiedAnswer, status: number, code: string): void {
  answer.status = status;
  answer.json = { error: { ...errorOf(answer), code, message: "Broken.", retryable: false } };
}
