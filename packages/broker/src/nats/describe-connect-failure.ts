import { AuthorizationError, TimeoutError, UserAuthenticationExpiredError } from "@nats-io/transport-node";
import { RepriseError } from "@reprise/protocol";

/** OpenSSL's and Node's names for a certificate that does not prove what it should. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Why a connection to NATS can't be made, in one line that says what to look at. */
export function describeConnectFailure(error: unknown): string {
  if (error instanceof RepriseError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  const said = firstLine(message);
  if (error instanceof UserAuthenticationExpiredError) return `the credentials have expired (${said}).`;
  if (isLate(error)) return `the server had no credentials of this process in time (${said}).`;
  if (error instanceof AuthorizationError)
    return `the server refuses the credentials (${said}). Check REPRISE_NATS_URL and the other REPRISE_NATS_* variables.`;
  if (error instanceof TimeoutError) return "no answer within 15 s.";
  if (code !== undefined && UNTRUSTED.has(code))
    return `the server's certificate is not trusted (${code}). REPRISE_NATS_CA names the authority to trust.`;
  return code === undefined ? `${said}.` : `${said} (${code}).`;
}

/** True if the server timed out waiting for the credentials, and has not checked any. */
export function isLate(error: unknown): boolean {
  return error instanceof AuthorizationError && /timeout/i.test(error.message);
}

/** OpenSSL's messages end with a line break. */
function firstLine(text: string): string {
  const [line = ""] = text.split("\n", 1);
  return line.replace(/\.$/, "");
}
