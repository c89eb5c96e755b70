import { RepriseError } from "@reprise/protocol";
import { describe, expect, it } from "vitest";
import { toResponsesErrorBody, toResponsesErrorFrame } from "./errors.ts";
import { parseStartingAfter } from "./position.ts";

describe("an error of the Responses API", () => {
  it.each([
    ["invalid_request", "invalid_request_error"],
    ["unauthenticated", "authentication_error"],
    ["forbidden", "permission_error"],
    ["limit_exceeded", "rate_limit_error"],
    ["broker_unavailable", "server_error"],
  ] as const)("of the code %s is a %s", (code, type) => {
    const body = toResponsesErrorBody(new RepriseError(code, "Why."));
    expect(body).toEqual({ error: { code, type, message: "Why.", param: null } });
  });

  it("calls a field as the client knows it", () => {
    const error = new RepriseError("capability_unsupported", "response_format: not here", {
      param: "response_format",
    });
    expect(toResponsesErrorBody(error).error).toMatchObject({
      message: "text.format: not here",
      param: "text.format",
    });
  });

  it("has the place of an item as it is", () => {
    const error = new RepriseError("invalid_request", "input.3.id: why", { param: "input.3.id" });
    expect(toResponsesErrorBody(error).error).toMatchObject({
      message: "input.3.id: why",
      param: "input.3.id",
    });
  });

  it("is an event of its own in a stream", () => {
    const { event, data } = toResponsesErrorFrame(new RepriseError("moderation_unavailable", "Why."));
    expect(event).toBe("error");
    expect(JSON.parse(data)).toEqual({
      type: "error",
      sequence_number: 0,
      code: "moderation_unavailable",
      message: "Why.",
      param: null,
    });
  });
});

describe("starting_after", () => {
  it("is exclusive: it is the number of the last event that the client has", () => {
    expect(parseStartingAfter(undefined)).toBe(0);
    expect(parseStartingAfter("0")).toBe(1);
    expect(parseStartingAfter("41")).toBe(42);
  });

  it.each(["", "-1", "1.5", "01", "x", "9".repeat(16)])("is a whole number: %j is refused", (value) => {
    expect(() => parseStartingAfter(value)).toThrow(
      expect.objectContaining({ code: "cursor_invalid", param: "starting_after" }),
    );
  });
});
