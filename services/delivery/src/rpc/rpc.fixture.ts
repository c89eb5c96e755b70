import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { authorization, KEYS } from "../testing/platform.ts";
import {
  Generations,
  ProblemSchema,
  type ReadResponse,
  type SessionRequestSchema,
  type SessionResponse,
} from "./generated/reprise/v1/reprise_pb.ts";

type UnaryName = "create" | "get" | "cancel" | "answerTool";
type Input<Name extends keyof typeof Generations.method> = MessageInitShape<
  (typeof Generations.method)[Name]["input"]
>;

const encoderOf = (schema: DescMessage) => (value: Record<string, unknown>) =>
  Buffer.from(toBinary(schema, create(schema, value)));

/** A client of `@grpc/grpc-js`. */
export function openGrpc(
  address: string,
  {
    key = KEYS.acme,
    channel = credentials.createInsecure(),
  }: { key?: string; channel?: ReturnType<typeof credentials.createSsl> } = {},
) {
  const client = new Client(address, channel);
  const metadata = new Metadata();
  metadata.set("authorization", authorization(key).authorization);
  const partsOf = (name: keyof typeof Generations.method) => {
    const { input, output, name: method } = Generations.method[name];
    const decode = (bytes: Buffer) => fromBinary(output as DescMessage, bytes);
    return [`/${Generations.typeName}/${method}`, encoderOf(input), decode] as const;
  };
  return {
    call: <Name extends UnaryName>(name: Name, message: Input<Name>) =>
      new Promise<{ id: string; generationJson: string }>((resolve, reject) => {
        client.makeUnaryRequest(...partsOf(name), message, metadata, (error, value) =>
          error ? reject(error) : resolve(value as never),
        );
      }),
    read: (message: Input<"read">, deadlineMs?: number) => {
      const deadline =
        deadlineMs === undefined ? {} : { deadline: new Date(new Date().getTime() + deadlineMs) };
      const [path, encode, decode] = partsOf("read");
      const call = client.makeServerStreamRequest(path, encode, decode, message, metadata, deadline);
      const events: ReadResponse[] = [];
      call.on("data", (event: ReadResponse) => void (event.eventJson !== "" && events.push(event)));
      const ended = endOf(call);
      return { call, events, ended };
    },
    session: () => {
      const call = client.makeBidiStreamRequest(...partsOf("session"), metadata);
      const messages: SessionResponse[] = [];
      call.on("data", (message: SessionResponse) => void messages.push(message));
      const ended = endOf(call);
      const send = (message: MessageInitShape<typeof SessionRequestSchema>) => void call.write(message);
      return { call, messages, ended, send };
    },
    [Symbol.dispose]: () => client.close(),
  };
}

/** Resolves at the end of a stream, with its error if it has one. */
function endOf(call: { on(event: string, listener: (error: ServiceError) => void): unknown }) {
  return new Promise<ServiceError | undefined>((resolve) => {
    call.on("error", resolve);
    call.on("end", () => setImmediate(resolve, undefined));
  });
}

/** The problem in the details of a status. */
export function problemIn({ metadata, code }: ServiceError) {
  const headers = new Headers({ "grpc-status": `${code}` });
  const [details = ""] = metadata.get("grpc-status-details-bin");
  headers.set("grpc-status-details-bin", Buffer.from(details as Buffer).toString("base64"));
  return findTrailerError(headers)?.findDetails(ProblemSchema)[0];
}
