import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

/*
 * X.509 by RFC 5280, as little of it as TLS asks for: Node reads certificates and makes none. Keys are of P-256, signatures ECDSA with SHA-256.
 */

export interface CertificateContent {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  /** The issuer's: both are one key where a certificate signs itself. */
  readonly issuerPublicKey: KeyObject;
  readonly issuerPrivateKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Names and IPv4 addresses that it is for; undefined: it is an authority. */
  readonly names: readonly string[] | undefined;
}

const OID = {
  ecdsaSha256: "2a8648ce3d040302",
  commonName: "550403",
  subjectKey: "551d0e",
  keyUsage: "551d0f",
  altNames: "551d11",
  basic: "551d13",
  issuerKey: "551d23",
  extendedUsage: "551d25",
  serverAuth: "2b06010505070301",
  clientAuth: "2b06010505070302",
};
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  time: 0x18,
  list: 0x30,
  set: 0x31,
  version: 0xa0,
  extensions: 0xa3,
  keyId: 0x80,
};
const NAME = { dns: 0x82, ip: 0x87 };
const TRUE = der(TAG.boolean, Buffer.of(0xff));
/** Bits from the left, behind the number of bits that are not used. */
const USAGE = { authority: Buffer.of(1, 0b0000_0110), endEntity: Buffer.of(7, 0b1000_0000) };
/** From this year on times are written with four digits of the year, and before it with two. */
const FOUR_DIGITS_FROM = 2050;

/** @returns the certificate as PEM */
export function encodeCertificate(content: CertificateContent): string {
  const algorithm = list(oid(OID.ecdsaSha256));
  const signed = list(
    der(TAG.version, der(TAG.integer, Buffer.of(2))),
    // Its first byte keeps the number positive.
    der(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    algorithm,
    encodeName(content.issuer),
    list(encodeTime(content.notBefore), encodeTime(content.notAfter)),
    encodeName(content.subject),
    toSpki(content.publicKey),
    der(TAG.extensions, list(...encodeExtensions(content))),
  );
  const signature = sign("sha256", signed, content.issuerPrivateKey);
  return toPem(list(signed, algorithm, encodeBits(Buffer.concat([Buffer.of(0), signature]))));
}

function encodeExtensions({ names, publicKey, issuerPublicKey }: CertificateContent): Buffer[] {
  const keys = [
    extension(OID.subjectKey, der(TAG.octets, toKeyId(publicKey))),
    extension(OID.issuerKey, list(der(TAG.keyId, toKeyId(issuerPublicKey)))),
  ];
  if (names === undefined)
    return [
      extension(OID.basic, list(TRUE), TRUE),
      extension(OID.keyUsage, encodeBits(USAGE.authority), TRUE),
      ...keys,
    ];
  return [
    extension(OID.basic, list(), TRUE),
    extension(OID.keyUsage, encodeBits(USAGE.endEntity), TRUE),
    extension(OID.extendedUsage, list(oid(OID.serverAuth), oid(OID.clientAuth))),
    extension(OID.altNames, list(...names.map(encodeAltName))),
    ...keys,
  ];
}

function encodeAltName(name: string): Buffer {
  return isIP(name) === 4
    ? der(NAME.ip, Buffer.from(name.split(".").map(Number)))
    : der(NAME.dns, Buffer.from(name, "ascii"));
}

function encodeName(commonName: string): Buffer {
  return list(der(TAG.set, list(oid(OID.commonName), der(TAG.utf8, Buffer.from(commonName)))));
}

function encodeTime(date: Date): Buffer {
  const digits = `${date.toISOString().replaceAll(/[-:T]|\.\d+Z/g, "")}Z`;
  return date.getUTCFullYear() < FOUR_DIGITS_FROM
    ? der(TAG.utcTime, Buffer.from(digits.slice(2)))
    : der(TAG.time, Buffer.from(digits));
}

function extension(id: string, value: Buffer, ...critical: readonly Buffer[]): Buffer {
  return list(oid(id), ...critical, der(TAG.octets, value));
}

function toKeyId(key: KeyObject): Buffer {
  return createHash("sha256").update(toSpki(key)).digest().subarray(0, 20);
}

function toSpki(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

function encodeBits(content: Buffer): Buffer {
  return der(TAG.bits, content);
}

function oid(hex: string): Buffer {
  return der(TAG.oid, Buffer.from(hex, "hex"));
}

function list(...items: readonly Buffer[]): Buffer {
  return der(TAG.list, Buffer.concat(items));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function toPem(content: Buffer): string {
  const lines = content.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
