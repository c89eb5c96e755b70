import type { EnumType, Field, FindMessage, MessageType, Options } from "./envoy-protos.ts";

/** A value that a field may have beside those of its message: what protobuf writes in another way in JSON. */
const WELL_KNOWN: Readonly<Record<string, (value: unknown) => boolean>> = {
  ".google.protobuf.Duration": (value) => typeof value === "string" && /^\d+(?:\.\d{1,9})?s$/.test(value),
  ".google.protobuf.BoolValue": (value) => typeof value === "boolean",
  ".google.protobuf.StringValue": (value) => typeof value === "string",
  ".google.protobuf.UInt32Value": (value) => isInteger(value, 0, 2 ** 32 - 1),
  ".google.protobuf.UInt64Value": (value) => isInteger(value, 0, Number.MAX_SAFE_INTEGER),
  ".google.protobuf.DoubleValue": (value) => typeof value === "number",
  ".google.protobuf.Struct": isObject,
  ".google.protobuf.Value": () => true,
};

const SCALARS: Readonly<Record<string, (value: unknown) => boolean>> = {
  bool: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  bytes: (value) => typeof value === "string",
  double: (value) => typeof value === "number",
  float: (value) => typeof value === "number",
  int32: (value) => isInteger(value, -(2 ** 31), 2 ** 31 - 1),
  int64: (value) => isInteger(value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  uint32: (value) => isInteger(value, 0, 2 ** 32 - 1),
  uint64: (value) => isInteger(value, 0, Number.MAX_SAFE_INTEGER),
};

function isInteger(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * What is wrong with a message that is written as JSON, each with its path: fields that there are not, that are deprecated, missing or of another type,
 * two of a oneof, and bounds of numbers and the length of texts where the definition has them. A message in an Any is checked as what its `@type` says.
 * Names of fields are taken as the definition has them, which Envoy's documentation has too; their form in camel case, which Envoy takes as well, is not.
 */
export function findProtoErrors(type: MessageType, value: unknown, find: FindMessage): string[] {
  return messageErrors(type, value, "", find);
}

function messageErrors(type: MessageType, value: unknown, at: string, find: FindMessage): string[] {
  const isWellKnown = WELL_KNOWN[type.fullName];
  if (isWellKnown) return isWellKnown(value) ? [] : [`${at}: no ${type.fullName.slice(1)}`];
  if (!isObject(value)) return [`${at}: no object, which ${type.fullName.slice(1)} is`];
  if (type.fullName === ".google.protobuf.Any") return anyErrors(value, at, find);
  const names = Object.keys(value);
  const oneofs = Object.values(type.oneofs ?? {});
  const alternatives = oneofs.flatMap(({ oneof }) => oneof);
  return [
    ...Object.entries(value).flatMap(([name, entry]) => {
      const field = type.fields[name];
      if (!field) return [`${at}.${name}: no field of ${type.fullName.slice(1)}`];
      if (field.options?.["deprecated"]) return [`${at}.${name}: deprecated`];
      return fieldErrors(field, entry, `${at}.${name}`, find);
    }),
    ...Object.values(type.fields).flatMap(({ name, options }) =>
      isRequired(options) && ![...names, ...alternatives].includes(name) ? [`${at}.${name}: missing`] : [],
    ),
    ...oneofs.flatMap(({ name, options, oneof }) => {
      const set = oneof.filter((one) => names.includes(one));
      if (set.length > 1) return [`${at}: ${set.join(" and ")} are of one ${name}`];
      return set.length === 0 && options?.["(validate.required)"] ? [`${at}: no ${name}`] : [];
    }),
  ];
}

function anyErrors(
  { "@type": url, ...rest }: Record<string, unknown>,
  at: string,
  find: FindMessage,
): string[] {
  const [, name] = /^type\.googleapis\.com\/([\w.]+)$/.exec(String(url)) ?? [];
  if (name === undefined) return [`${at}.@type: ${String(url)} is no type`];
  let type;
  try {
    type = find(name);
  } catch {
    return [`${at}.@type: there is no ${name}`];
  }
  return messageErrors(type, rest, at, find);
}

function fieldErrors(field: Field, value: unknown, at: string, find: FindMessage): string[] {
  if (field.map) {
    if (!isObject(value)) return [`${at}: no object`];
    return Object.entries(value).flatMap(([key, entry]) => valueErrors(field, entry, `${at}[${key}]`, find));
  }
  if (!field.repeated) return valueErrors(field, value, at, find);
  if (!Array.isArray(value)) return [`${at}: no list`];
  return value.flatMap((entry, i) => valueErrors(field, entry, `${at}[${i}]`, find));
}

function valueErrors(
  { type, resolvedType, options }: Field,
  value: unknown,
  at: string,
  find: FindMessage,
): string[] {
  if (resolvedType && isEnum(resolvedType)) {
    if (typeof value === "string" && value in resolvedType.values) return [];
    return [`${at}: ${String(value)} is none of ${resolvedType.fullName.slice(1)}`];
  }
  if (resolvedType) {
    const errors = messageErrors(resolvedType, value, at, find);
    return errors.length > 0 ? errors : boundErrors(value, at, options);
  }
  if (!SCALARS[type]?.(value)) return [`${at}: no ${type}`];
  return boundErrors(value, at, options);
}

function isEnum(type: MessageType | EnumType): type is EnumType {
  return "values" in type;
}

function isRequired(options: Options = {}): boolean {
  return ["message.required", "duration.required"].some(
    (rule) => options[`(validate.rules).${rule}`] === true,
  );
}

function boundErrors(value: unknown, at: string, options: Options = {}): string[] {
  return Object.entries(options).flatMap(([option, bound]) => {
    const rule = /^\(validate\.rules\)\.(?:u?int\d+|double|string)\.(\w+)$/.exec(option)?.[1] ?? "";
    return BOUNDS[rule]?.(value, Number(bound)) === false ? [`${at}: ${rule} ${String(bound)}`] : [];
  });
}

const BOUNDS: Readonly<Record<string, (value: unknown, bound: number) => boolean>> = {
  gt: (value, bound) => Number(value) > bound,
  gte: (value, bound) => Number(value) >= bound,
  lt: (value, bound) => Number(value) < bound,
  lte: (value, bound) => Number(value) <= bound,
  min_len: (value, bound) => String(value).length >= bound,
};
