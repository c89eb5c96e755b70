import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import {
  Generations,
  ProblemSchema,
} from "../../../services/delivery/src/rpc/generated/reprise/v1/reprise_pb.ts";

/* Runs a generation by each protocol that a page can speak, and tells what came. The platform's address and key are in the page's own address. */

const settings = new URLSearchParams(location.hash.slice(1));
const output = document.querySelector("pre")!;
const options = { headers: { authorization: `Bearer ${settings.get("key")!}` } };

async function run(transport: Transport) {
  const client = createClient(Generations, transport);
  const requestJson = JSON.stringify({ model: "sim", input: "Hi", options: { tokens: 20 } });
  const { id: generation } = await client.create({ requestJson }, options);
  const events: { seq: number; type: string }[] = [];
  for await (const { eventJson } of client.read({ generation }, options))
    if (eventJson !== "") events.push(JSON.parse(eventJson) as (typeof events)[number]);
  const error = await client
    .get({ generation: "gen_0_none" }, options)
    .then(() => undefined, ConnectError.from.bind(ConnectError));
  return {
    first: events[0]?.seq,
    isWhole: events.every(({ seq }, i) => seq === i + 1),
    last: events.at(-1)?.type,
    error: error && Code[error.code],
    problem: error?.findDetails(ProblemSchema)[0]?.code,
  };
}

async function runAll() {
  const baseUrl = settings.get("url")!;
  return {
    connect: await run(createConnectTransport({ baseUrl })),
    binary: await run(createConnectTransport({ baseUrl, useBinaryFormat: true })),
    grpcWeb: await run(createGrpcWebTransport({ baseUrl })),
  };
}

const told = await runAll().catch(String);
output.textContent = JSON.stringify(told);
