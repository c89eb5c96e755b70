import { generationsStream, JOBS_STREAM, logSubject, shardOf } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type Broker, flushConnection } from "../nats/connection.ts";
import { isRefusal } from "../nats/jetstream-errors.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { getStreamInfo } from "../nats/stream-api.ts";
import { eventually } from "../testing/eventually.ts";
import { startWithUsers } from "../testing/start-with-users.ts";
import { newRef } from "../testing/world.ts";
import { directGet } from "./api-subject.ts";

/*
 * A limit of nats-server (2.15.1), and so of what permissions protect from: see SECURITY.md. It takes an answer that it sends to a subject of
 * JetStream's API for a request, and asks nobody whether the user whose request it answers may make that. A server on which this test fails
 * has closed that: the documents then promise too little.
 */

/** Has the broker answer a call with what this service has appended to a log. */
async function callByAnswer({ main }: Broker, call: string, request: object): Promise<void> {
  const own = newRef();
  const payload = new TextEncoder().encode(JSON.stringify(request));
  await createPublish(inboxOf(main))(logSubject(own), payload, {});
  const get = JSON.stringify({ last_by_subj: logSubject(own), no_hdr: true });
  main.publish(directGet(generationsStream(shardOf(own.generation))), get, { reply: call });
  await flushConnection(main);
}

test("a service can have the broker delete a stream, and make another, by the reply subject of a request", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using moderation = await server.connect("moderation");
  await getStreamInfo(admin.main, JOBS_STREAM);
  await callByAnswer(moderation, `$JS.API.STREAM.DELETE.${JOBS_STREAM}`, {});
  await callByAnswer(moderation, "$JS.API.STREAM.CREATE.MADE", { name: "MADE", subjects: ["made"] });
  await eventually(async () => {
    const deleted: unknown = await getStreamInfo(admin.main, JOBS_STREAM).catch((error: unknown) => error);
    expect(isRefusal(deleted, "streamNotFound")).toBe(true);
    expect((await getStreamInfo(admin.main, "MADE")).config.subjects).toEqual(["made"]);
  });
});
