import { RepriseError } from "@reprise/protocol";
import type { FastifyBodyParser, FastifyInstance } from "fastify";
import { decodeBody, parseJsonBody } from "./parse-json-body.ts";
import type { RequestBodies } from "./request-bodies.ts";

/** Parses JSON and no other type. Returns the parser, for routes that take JSON under another type. */
export function addBodyParser(
  app: FastifyInstance,
  bodies: Pick<RequestBodies, "turn">,
): FastifyBodyParser<Buffer> {
  // Some clients name a type whether they send a body or not. Calls that need one refuse its absence by themselves.
  const parseBody: FastifyBodyParser<Buffer> = (request, body, done) => {
    if (body.length === 0) return done(null);
    const turn = bodies.turn(request.raw, body.length);
    const parse = (answer: typeof done) => {
      let value: unknown;
      try {
        value = parseJsonBody(decodeBody(body));
      } catch (error) {
        return answer(error as Error);
      }
      answer(null, value);
    };
    if (!turn) return parse(done);
    // The work for a large body, before and after parsing, is spread over turns of the event loop.
    const parsed: typeof done = (error, value) => void setImmediate(done, error, value);
    const begin = (isDue: boolean) => (isDue ? parse(parsed) : done(clientHasLeft()));
    turn.then(begin, done);
  };
  app.removeContentTypeParser("text/plain");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, parseBody);
  return parseBody;
}

function clientHasLeft(): RepriseError {
  return new RepriseError("connection_lost", "The client left before its request had its turn.");
}
