import { connect } from "@nats-io/transport-node";
import { startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createPublish } from "./publisher.ts";
import { ReplyInbox } from "./reply-inbox.ts";

test.each([
  ["not JSON", "oops", "an answer that is not JSON"],
  ["without a sequence", "{}", "an answer without a sequence"],
])(
  "an answer that is %s is told to the caller of a publish, which does not wait for ever",
  async (_what, answer, detail) => {
    await using server = await startTestBroker();
    const connection = await connect({ servers: server.url });
    connection.subscribe("odd", { callback: (_error, msg) => void msg.respond(answer) });
    const inbox = new ReplyInbox(connection, (error) => expect.unreachable(String(error)));
    const outcome = await createPublish(inbox)("odd", new Uint8Array(), {});
    expect(outcome).toEqual({ kind: "unavailable", reason: "broker_error", detail });
    await connection.close();
  },
);
