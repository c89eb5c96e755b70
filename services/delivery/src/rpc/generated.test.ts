import { fromBinary, toJson } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { loadSync } from "@grpc/proto-loader";
import { expect, test } from "vitest";
import { file_reprise_v1_reprise as file } from "./generated/reprise/v1/reprise_pb.ts";

const PROTO = new URL("../../../../packages/protocol/proto/reprise/v1/reprise.proto", import.meta.url);

test("the generated code has the messages and calls of the .proto", () => {
  const loaded = loadSync(PROTO.pathname, { keepCase: true })["reprise.v1.Generation"] as unknown as {
    fileDescriptorProtos: [Uint8Array];
  };
  const [bytes] = loaded.fileDescriptorProtos;
  expect(shapeOf(fromBinary(FileDescriptorProtoSchema, bytes))).toEqual(shapeOf(file.proto));
});

/** The messages and calls, without what each compiler adds by itself. */
function shapeOf(proto: FileDescriptorProto): unknown {
  const { messageType, service } = toJson(FileDescriptorProtoSchema, proto);
  const json = JSON.stringify({ messageType, service }, (key, value: unknown) =>
    key === "jsonName" || value === false ? undefined : value,
  );
  return JSON.parse(json.replaceAll(".reprise.v1.", ""));
}
