import { RepriseError } from "@reprise/protocol";
import { expect, it } from "vitest";
import { renamedError } from "./renamed-error.ts";

const toName = (param: string) => param.replace(/^input/, "messages");

it("an error has the client's name of its field, in its message too", () => {
  const error = new RepriseError("overloaded", "input.0: is too much", { param: "input.0", retryAfterMs: 5 });
  const renamed = renamedError(error, toName);
  expect(renamed).toMatchObject({ code: "overloaded", param: "messages.0", retryAfterMs: 5, cause: error });
  expect(renamed.message).toBe("messages.0: is too much");
});

it("a message that does not begin with the field stays as it is", () => {
  for (const message of ["Not this input", "input_bytes: is too much", "input.0: is wrong"])
    expect(
      renamedError(new RepriseError("invalid_request", message, { param: "input" }), toName),
    ).toMatchObject({
      message,
      param: "messages",
    });
});

it("an error about no field, or one with the same name, is the same", () => {
  for (const options of [{}, { param: "model" }]) {
    const error = new RepriseError("invalid_request", "model: is wrong", options);
    expect(renamedError(error, toName)).toBe(error);
  }
});
