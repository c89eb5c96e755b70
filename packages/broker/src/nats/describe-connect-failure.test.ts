import { AuthorizationError, TimeoutError, UserAuthenticationExpiredError } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { describeConnectFailure } from "./describe-connect-failure.ts";

const withCode = (code: string, message: string) => Object.assign(new Error(message), { code });

test.each([
  [new AuthorizationError("Authorization Violation"), /^the server refuses the credentials/],
  [new AuthorizationError("Authentication Timeout"), /^the server had no credentials/],
  [new UserAuthenticationExpiredError("User Authentication Expired"), /^the credentials have expired/],
  [new TimeoutError(), /^no answer within 15 s/],
  [
    withCode("SELF_SIGNED_CERT_IN_CHAIN", "self-signed"),
    /^the server's certificate is not trusted .*REPRISE_NATS_CA/,
  ],
  [withCode("ENOTFOUND", "getaddrinfo ENOTFOUND nosuch"), /^getaddrinfo ENOTFOUND nosuch \(ENOTFOUND\)\.$/],
  [
    withCode("ERR_SSL_WRONG_VERSION_NUMBER", "wrong version number:file.c:77:\n"),
    /^wrong version number:file\.c:77: \(/,
  ],
  [new Error("connection refused"), /^connection refused\.$/],
])("%s is told in one line", (error, said) => {
  const line = describeConnectFailure(error);
  expect(line).toMatch(said);
  expect(line).not.toContain("\n");
});
