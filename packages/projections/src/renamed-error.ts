import { RepriseError } from "@reprise/protocol";

/**
 * An error about a native request, as one about what a client has sent: with the client's name of the field, also where the message begins with it.
 * @param toName the client's name of a native field
 */
export function renamedError(error: RepriseError, toName: (param: string) => string): RepriseError {
  const { code, message, param, retryAfterMs } = error;
  if (param === undefined) return error;
  const name = toName(param);
  if (name === param) return error;
  const rest = message.slice(param.length);
  const isNamed = message.startsWith(param) && !/^[\w.]/.test(rest);
  return new RepriseError(code, isNamed ? `${name}${rest}` : message, {
    param: name,
    retryAfterMs,
    cause: error,
  });
}
