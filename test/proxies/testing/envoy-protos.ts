import { existsSync, globSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { installSchemas } from "../../../scripts/schemas/install-schemas.ts";
import { DATA_DIR } from "../../kubernetes/testing/overlay.ts";

/*
 * As much of protobufjs' reflection as is read here. It is no dependency of the repository: it comes with the definitions, from `scripts/schemas`.
 */

/** Of a field, a oneof or a message: `deprecated`, and those of protoc-gen-validate, such as `(validate.rules).uint32.lte`. */
export type Options = Readonly<Record<string, unknown>>;

export interface EnumType {
  readonly fullName: string;
  readonly values: Readonly<Record<string, number>>;
}

export interface OneOf {
  readonly name: string;
  readonly options?: Options;
  readonly oneof: readonly string[];
}

export interface MessageType {
  readonly fullName: string;
  readonly fields: Readonly<Record<string, Field>>;
  readonly oneofs?: Readonly<Record<string, OneOf>>;
}

export interface Field {
  readonly name: string;
  /** A scalar's name; a message's or an enumeration's is in `resolvedType`. */
  readonly type: string;
  readonly repeated: boolean;
  readonly map: boolean;
  readonly options?: Options;
  readonly resolvedType: MessageType | EnumType | null;
}

interface Root {
  resolvePath: (origin: string, target: string) => string;
  loadSync(paths: readonly string[], options: { readonly keepCase: boolean }): Root;
  lookupType(name: string): MessageType;
  resolveAll(): Root;
}

/** Finds a message of Envoy's API by its full name. @throws Error where there is none */
export type FindMessage = (name: string) => MessageType;

/** Envoy's definitions as gRPC has copied them from Envoy, with those of other projects that they import. Files are read when a message of their package is asked for. */
export async function loadEnvoyProtos(): Promise<FindMessage> {
  const packages = await installSchemas(DATA_DIR);
  const deps = join(packages, "@grpc/grpc-js-xds/deps");
  const roots = [
    ...["envoy-api", "googleapis", "xds", "protoc-gen-validate"].map((name) => join(deps, name)),
    join(packages, "protobufjs"),
  ];
  const { Root } = createRequire(join(packages, "package.json"))("protobufjs") as { Root: new () => Root };
  const root = new Root();
  root.resolvePath = (_origin, target) =>
    roots.map((folder) => join(folder, target)).find((path) => existsSync(path)) ?? target;
  return (name) => {
    const folder = name.split(".").slice(0, -1).join("/");
    root.loadSync(globSync(`${folder}/*.proto`, { cwd: roots[0]! }), { keepCase: true }).resolveAll();
    return root.lookupType(name);
  };
}
