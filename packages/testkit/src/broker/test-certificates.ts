import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";

/** One certificate authority, and what it has signed, as PEM files in a folder. */
export interface TestCertificates {
  /** The authority's own certificate. */
  readonly ca: string;
  /** A certificate for these names or IPv4 addresses, and its key: for a server and for a client alike. */
  issue(name: string, subjects: readonly string[]): Promise<{ cert: string; key: string }>;
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const OID = { ecdsaSha256: "2a8648ce3d040302", commonName: "550403", altNames: "551d11", basic: "551d13" };
const TAG = {
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  time: 0x18,
  list: 0x30,
  set: 0x31,
};
const NAME = { dns: 0x82, ip: 0x87 };

/** Makes an authority of its own, with keys that live in `dir` only. X.509 is written by hand, since Node reads certificates only. */
export async function createTestCertificates(dir: string): Promise<TestCertificates> {
  await mkdir(dir, { recursive: true });
  const issuer = "Reprise test authority";
  const authority = newKeys();
  const write = async (name: string, content: string) => {
    const path = join(dir, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  const sealed = (subject: string, keys: Keys, extension: Buffer) =>
    toPem(encodeCertificate({ subject, issuer, keys, extension, signer: authority.privateKey }));
  const isAuthority = encodeExtension(OID.basic, list(der(0x01, Buffer.of(0xff))));
  return {
    ca: await write("ca.pem", sealed(issuer, authority, isAuthority)),
    async issue(name, subjects) {
      const keys = newKeys();
      const names = subjects.map((subject) =>
        isIP(subject) === 4
          ? der(NAME.ip, Buffer.from(subject.split(".").map(Number)))
          : der(NAME.dns, Buffer.from(subject)),
      );
      const cert = await write(
        `${name}.pem`,
        sealed(name, keys, encodeExtension(OID.altNames, list(...names))),
      );
      const key = await write(
        `${name}.key`,
        String(keys.privateKey.export({ type: "pkcs8", format: "pem" })),
      );
      return { cert, key };
    },
  };
}

function newKeys(): Keys {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { publicKey, privateKey: createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" })) };
}

interface CertificateParts {
  readonly subject: string;
  readonly issuer: string;
  readonly keys: Keys;
  readonly extension: Buffer;
  readonly signer: KeyObject;
}

/** RFC 5280, as little of it as TLS asks for. */
function encodeCertificate({ subject, issuer, keys, extension, signer }: CertificateParts): Buffer {
  const algorithm = list(oid(OID.ecdsaSha256));
  const content = list(
    der(0xa0, der(TAG.integer, Buffer.of(2))),
    der(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    encodeName(issuer),
    list(der(TAG.time, Buffer.from("20200101000000Z")), der(TAG.time, Buffer.from("21200101000000Z"))),
    encodeName(subject),
    keys.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, list(extension)),
  );
  const signature = sign("sha256", content, signer);
  return list(content, algorithm, der(TAG.bits, Buffer.concat([Buffer.of(0), signature])));
}

function encodeName(commonName: string): Buffer {
  return list(der(TAG.set, list(oid(OID.commonName), der(TAG.utf8, Buffer.from(commonName)))));
}

function encodeExtension(id: string, value: Buffer): Buffer {
  return list(oid(id), der(TAG.octets, value));
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
  const lines = content.toString("base64").match(/.{1,64}/g)!;
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
